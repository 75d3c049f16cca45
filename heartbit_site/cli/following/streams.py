"""Runs as their journals and streams tell them: watched to the end, or as they are. No Django."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from agents.output.results import MetricsOut
from heartbit_site.base.amounts import duration
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.terminal.errors import CANCELLED, OK, WAITING
from heartbit_site.cli.terminal.margin import margined, visible
from heartbit_site.cli.terminal.output import as_json, note, one_line, write, write_json
from heartbit_site.cli.terminal.table import Table
from heartbit_site.cli.views.outcome import (
    LIVE,
    answer,
    conclude,
    reason,
    run_tree,
    warn_without_worker,
)
from heartbit_site.cli.views.render import Canvas, render
from heartbit_site.cli.views.tree import Tree
from heartbit_site.contract import calls
from heartbit_site.contract.runs import SHOW_RUN, RunDetailOut, RunViewOut

if TYPE_CHECKING:
    from heartbit_site.cli.following.local_runs import LocalStream
    from heartbit_site.cli.following.server_stream import ServerStream


def stream_of(backend: Backend) -> LocalStream | ServerStream:
    """Return the updates that go with a backend."""
    if isinstance(backend, ServerBackend):
        from heartbit_site.cli.following.server_stream import ServerStream  # noqa: PLC0415  httpx is slow

        return ServerStream(backend.server)
    from heartbit_site.cli.following.local_runs import LocalStream  # noqa: PLC0415  needs Django set up

    return LocalStream()


def accepted(backend: Backend, run: RunDetailOut, *, watch: bool, plain: bool) -> int:
    """Print a run that was accepted just now; with ``watch``, stay until it has ended."""
    if watch:
        if not as_json():
            note(f"Run {run.id}")
        _warn_of_wait(backend, run)
        return stay(backend, run, plain=plain)
    if as_json():
        write_json(run_tree(run))
    else:
        write(run.id)
    _warn_of_wait(backend, run)
    return OK


def _warn_of_wait(backend: Backend, run: RunDetailOut) -> None:
    """Say so if a run that was accepted has to wait for Valkey or a worker."""
    warn_without_worker(run)
    if isinstance(backend, ServerBackend):
        return  # the server sends the wake-up
    from heartbit_site.base import enqueue  # noqa: PLC0415  needs Django set up

    if enqueue.is_away():
        note(
            "Valkey cannot be reached, so the run is stored and waits: a worker starts it once "
            "Valkey answers again (`heartbit doctor` says more)."
        )


def stay(backend: Backend, run: RunDetailOut, *, plain: bool, leaves: bool = False) -> int:
    """Show a run's tree until it has ended, then its end. Ctrl-C leaves; the run continues.

    Args:
        backend: Where it is.
        run: Which.
        plain: Write progress as lines.
        leaves: Leave when the tree can only wait for a person, and there is no terminal.
    """
    match stream_of(backend).watch(run.root_id, plain=plain, leaves=leaves):
        case "waits":
            note(
                f"Nobody can be asked here. `heartbit resume {run.id}` then watches the run again."
            )
            return WAITING
        case "left":
            note(
                f"The run goes on: `heartbit status {run.id} --watch`, or "
                f"`heartbit cancel {run.id}`."
            )
            return CANCELLED
        case "ended":
            ended = backend.call(SHOW_RUN, run_id=run.id)
            return conclude(ended, watched=True)


def print_tree(backend: Backend, run: RunDetailOut) -> None:
    """Print a run's id, its task, and its tree as it is now."""
    tree = Tree()
    for update in stream_of(backend).recorded(run.root_id):
        tree.apply(update)
    console = Console(highlight=False)
    head = [f"Run {run.id}", f"Task: {one_line(run.task)}"]
    if run.started_by:
        head.append(f"Started by: {one_line(run.started_by)}")
    canvas = Canvas(console.width, datetime.now(UTC), ascii_only=console.options.ascii_only)
    for line in [*map(Text, head), *render(tree, canvas)]:
        console.print(line, soft_wrap=True)


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
    if run.status in LIVE and run.placement == "restored":
        note(run.blocked_reason)
    elif run.status in LIVE:
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
