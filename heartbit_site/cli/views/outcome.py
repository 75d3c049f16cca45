"""The end of a run as output and exit code: the answer on stdout, a reason on stderr. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.base.queues import without_worker
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli.terminal import errors
from heartbit_site.cli.terminal.invocation import as_json
from heartbit_site.cli.terminal.output import note, write, write_json
from heartbit_site.cli.views import describe

if TYPE_CHECKING:
    from heartbit_site.contract.runs import RunDetailOut, RunOut, RunSummaryOut

LIVE: Final = frozenset({"queued", "running", "waiting"})


def conclude(run: RunDetailOut, *, watched: bool = False) -> int:
    """Print how a run ended and return the exit code.

    Args:
        run: A run that has ended.
        watched: Mark the object as the last line of a stream of JSON.
    """
    if as_json():
        mark = {"type": "result"} if watched else {}
        write_json({**mark, **describe.run_tree(run)})
        return exit_code(run)
    if run.status != "succeeded":
        errors.say(reason(run))
        return exit_code(run)
    write(answer(run))
    if run.structured is None:
        if not run.output:
            note("The model gave an empty answer.")
        elif run.result is not None and run.result.finish_reason == "length":
            note("The answer was cut at max_tokens of its agent.")
    return exit_code(run)


def answer(run: RunOut) -> str:
    """Return what a run that succeeded says: JSON if its agent has a response schema, else text."""
    return readable_json(run.structured) if run.structured is not None else run.output or ""


def exit_code(run: RunSummaryOut) -> int:
    """Return the exit code that a run's end means."""
    match run.status:
        case "succeeded":
            return errors.OK
        case "cancelled":
            return errors.CANCELLED
        case _:
            return errors.FAILED


def reason(run: RunSummaryOut) -> str:
    """Return why a run ended without an answer, in one sentence."""
    if run.status == "cancelled":
        return "The run was cancelled."
    message = (run.error or {}).get("message")
    if message:
        return str(message)
    return f"The run {past(run)} without a reason; `heartbit status {run.id}` shows its journal."


def past(run: RunSummaryOut) -> str:
    """Return what became of a run, as words that follow its name."""
    return f"was {run.status}" if run.status in ("cancelled", "quarantined") else run.status


def warn_without_worker(run: RunDetailOut) -> None:
    """Say so when a run waits for workers that are not there."""
    if run.status in LIVE and not run.has_worker:
        note(without_worker(run.queue))
