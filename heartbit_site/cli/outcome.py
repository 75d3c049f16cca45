"""The end of a run, as output and exit code: the answer on stdout, the reason on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.choices import RunStatus
from agents.events import RunSucceeded
from agents.models import Run, RunEvent
from agents.querysets import tree
from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli import describe, errors
from heartbit_site.cli.output import note, write, write_json

if TYPE_CHECKING:
    from uuid import UUID


def conclude(run_id: UUID, *, as_json: bool, watched: bool = False) -> int:
    """Print how a run ended and return the exit code.

    Args:
        run_id: A run that has ended.
        as_json: Print its machine form, whatever became of it.
        watched: Mark the object as the last line of a stream of JSON.
    """
    run = Run.objects.get(pk=run_id)
    if as_json:
        mark = {"type": "result"} if watched else {}
        write_json({**mark, **describe.run_tree(run, tree(run.root_id))})
        return exit_code(run)
    if run.status == RunStatus.SUCCEEDED:
        write(answer(run))
        if run.structured is not None:
            return exit_code(run)
        if not run.output:
            note("The model gave an empty answer.")
        elif _is_cut(run):
            note("The answer was cut at max_tokens of its agent.")
    else:
        errors.say(reason(run))
    return exit_code(run)


def answer(run: Run) -> str:
    """What a run that succeeded says: JSON if its agent has a response schema, else text."""
    return readable_json(run.structured) if run.structured is not None else run.output or ""


def _is_cut(run: Run) -> bool:
    ends = RunEvent.objects.filter(run=run, type=RunSucceeded.type)
    return any(end.payload.get("finish_reason") == "length" for end in ends)


def exit_code(run: Run) -> int:
    """The exit code that a run's end means."""
    match run.status:
        case RunStatus.SUCCEEDED:
            return errors.OK
        case RunStatus.CANCELLED:
            return errors.CANCELLED
        case _:
            return errors.FAILED


def reason(run: Run) -> str:
    """Why a run ended without an answer, in one sentence."""
    if run.status == RunStatus.CANCELLED:
        return "The run was cancelled."
    error = run.error or {}
    message = error.get("message") if isinstance(error, dict) else None
    if message:
        return str(message)
    if run.status == RunStatus.QUARANTINED:
        return f"The run killed its workers {run.attempts} times and is quarantined."
    return f"The run {run.status} without a reason; `heartbit status {run.pk}` shows its journal."
