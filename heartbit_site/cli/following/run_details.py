"""One run with everything that is known of it: tree, calls, decisions, cost, result. No Django."""

from __future__ import annotations

from typing import Any, Final

from agents.output.results import MetricsOut
from heartbit_site.base.amounts import duration
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.following.streams import print_tree
from heartbit_site.cli.terminal.errors import OK
from heartbit_site.cli.terminal.escape import visible
from heartbit_site.cli.terminal.margin import margined
from heartbit_site.cli.terminal.output import as_json, one_line, write, write_json
from heartbit_site.cli.terminal.table import Table
from heartbit_site.cli.views.outcome import LIVE, answer, reason, run_tree, warn_without_worker
from heartbit_site.contract import calls
from heartbit_site.contract.runs import RunViewOut

DETAIL_WIDTH = 200


def print_run(backend: Backend, run: RunViewOut) -> int:
    """Print a run; as JSON with its result (`agents.output.results`) once it has ended."""
    listed = backend.every(calls.LIST_CALLS, run_id=run.id).calls
    if as_json():
        write_json(
            {
                **run_tree(run),
                "calls": [_json(_whole(backend, call)) for call in listed],
                "cost_usd": run.metrics.cost_usd,
                "result": None if run.result is None else run.result.model_dump(mode="json"),
            }
        )
        return OK
    print_tree(backend, run)
    if listed:
        write("")
        CALLS.print(listed)
    for call in listed:
        if any(decision.arguments is not None for decision in call.decisions):
            _print_edits(_whole(backend, call))
    write(f"\n{_figures(run.metrics)}")
    if run.status in LIVE:
        warn_without_worker(run)
    else:
        write(f"\n{answer(run) if run.status == 'succeeded' else reason(run)}")
    return OK


def _whole(backend: Backend, call: calls.CallSummaryOut) -> calls.CallOut:
    if not call.shortened:
        return call
    return backend.call(calls.SHOW_CALL, run_id=call.run_id, call_id=call.call_id)


def _json(call: calls.CallOut) -> dict[str, Any]:
    found = call.model_dump(mode="json", exclude={"agent", "shortened"})
    return {**found, "decision": found["decisions"][-1] if found["decisions"] else None}


def _said(decision: calls.CallDecisionOut) -> str:
    why = f" ({visible(decision.reason)})" if decision.reason else ""
    return f"{decision.verdict} by {visible(decision.by)}{why}"


def _print_edits(call: calls.CallOut) -> None:
    """Print what ran instead of what the model wrote."""
    for decision in call.decisions:
        if decision.arguments is not None:
            write(f"\n{call.call_id} ran with these arguments instead:")
            write("\n".join(margined(_readable(decision.arguments), DETAIL_WIDTH)))


def _readable(text: str) -> str:
    return "\n".join(visible(line) for line in text.splitlines())


def _figures(metrics: MetricsOut) -> str:
    cost = "cost unknown" if metrics.cost_usd is None else f"${metrics.cost_usd}"
    took, queued = duration(metrics.duration_ms / 1000), duration(metrics.queued_ms / 1000)
    return (
        f"{took}, of it {queued} queued; "
        f"{metrics.model_calls} model calls, {metrics.tool_calls} tool calls; "
        f"{metrics.input_tokens:,} tokens in, {metrics.output_tokens:,} out; {cost}"
    )


CALLS: Final = Table.of(
    calls.CallSummaryOut,
    "AGENT=agent:20 CALL=call_id STATUS DECISION TOOL",
    DECISION=lambda call: one_line(", ".join(map(_said, call.decisions)), 60),
    TOOL=lambda call: f"{one_line(call.tool, 40)} {one_line(call.arguments, DETAIL_WIDTH)}",
)
