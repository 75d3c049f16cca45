"""One run with everything that is known of it: tree, calls, decisions, cost, result."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.models import Decision, Run, ToolCall
from agents.outcome import metrics_of, result_of
from agents.querysets import find_run, shown_tool, tree
from heartbit_site.cli import describe
from heartbit_site.cli.errors import OK
from heartbit_site.cli.escape import visible
from heartbit_site.cli.outcome import answer, reason
from heartbit_site.cli.output import one_line, seconds, write, write_json
from heartbit_site.cli.question import margined
from heartbit_site.cli.reports import print_tree
from heartbit_site.cli.table import print_table
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from uuid import UUID

    from agents.results import Metrics

COLUMNS = ("AGENT", "CALL", "STATUS", "DECISION", "TOOL")
DETAIL_WIDTH = 200


def show_run(text: str, *, as_json: bool) -> int:
    """Show it; with JSON, its result in the form of `agents.results` once it has ended."""
    run = find_run(default_workspace(), text)
    rows = tree(run.root_id)
    shown = _below(run, rows)
    decisions: dict[tuple[UUID, str], list[Decision]] = {}
    for decision in Decision.objects.filter(run__in=shown).order_by("at", "id"):
        decisions.setdefault((decision.run_id, decision.call_id), []).append(decision)
    calls = [
        (call, decisions.get((call.run_id, call.call_id), []))
        for call in ToolCall.objects.filter(run__in=shown).select_related("run").order_by("id")
    ]
    metrics = metrics_of(run)
    if as_json:
        ended = run.status in TERMINAL
        write_json(
            {
                **describe.run_tree(run, rows),
                "calls": [_call(*call) for call in calls],
                "cost_usd": metrics.cost_usd,
                "result": result_of(run).as_dict() if ended else None,
            }
        )
        return OK
    print_tree(run, rows)
    if calls:
        write("")
        print_table(COLUMNS, [_cells(*call) for call in calls])
    _print_edits([decision for each in decisions.values() for decision in each])
    write(f"\n{_figures(metrics)}")
    if run.status in TERMINAL:
        write(f"\n{answer(run) if run.status == 'succeeded' else reason(run)}")
    return OK


def _below(run: Run, rows: list[Run]) -> list[Run]:
    return rows if run.parent_id is None else [row for row in rows if row.pk == run.pk]


def _call(call: ToolCall, decisions: list[Decision]) -> dict[str, Any]:
    return {
        "run": str(call.run_id),
        "call": call.call_id,
        "tool": shown_tool(call),
        "arguments": call.arguments,
        "effect": call.effect,
        "status": call.status,
        "result": call.result,
        "decision": _decision(decisions[-1]) if decisions else None,
        "decisions": [_decision(decision) for decision in decisions],
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "verdict": decision.verdict,
        "by": decision.decided_by,
        "via": decision.via,
        "reason": decision.reason,
        "arguments": decision.arguments,
        "digest": decision.digest,
        "runs_digest": decision.runs_digest,
        "at": decision.at.astimezone(UTC).isoformat(),
    }


def _cells(call: ToolCall, decisions: list[Decision]) -> tuple[str, ...]:
    arguments = one_line(call.arguments, DETAIL_WIDTH)
    return (
        one_line(call.run.agent, 20),
        call.call_id,
        call.status,
        one_line(", ".join(_said(decision) for decision in decisions), 60),
        f"{one_line(shown_tool(call), 40)} {arguments}",
    )


def _said(decision: Decision) -> str:
    why = f" ({visible(decision.reason)})" if decision.reason else ""
    return f"{decision.verdict} by {visible(decision.decided_by)}{why}"


def _print_edits(decisions: list[Decision]) -> None:
    """What ran instead of what the model wrote."""
    for decision in decisions:
        if decision.arguments is not None:
            write(f"\n{decision.call_id} ran with these arguments instead:")
            write("\n".join(margined(_readable(decision.arguments), DETAIL_WIDTH)))


def _readable(text: str) -> str:
    return "\n".join(visible(line) for line in text.splitlines())


def _figures(metrics: Metrics) -> str:
    cost = "cost unknown" if metrics.cost_usd is None else f"${metrics.cost_usd}"
    return (
        f"{seconds(metrics.duration_ms / 1000)}, of it {seconds(metrics.queued_ms / 1000)} queued; "
        f"{metrics.model_calls} model calls, {metrics.tool_calls} tool calls; "
        f"{metrics.input_tokens:,} tokens in, {metrics.output_tokens:,} out; {cost}"
    )
