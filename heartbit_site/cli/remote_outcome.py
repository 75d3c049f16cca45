"""The end of a remote run, as output and exit code: as `outcome` does it for rows. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.visible_text import readable_json
from heartbit_site.cli import errors
from heartbit_site.cli.output import note, write, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What `--json` prints of a run; a server says more.
FIELDS: Final = (
    *("run", "root", "parent", "agent", "home", "model", "status", "task", "output"),
    *("structured", "error", "usage", "created_at", "started_at", "finished_at"),
)
LIVE: Final = frozenset({"queued", "running", "waiting"})


def summary(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run of a list as `--json` prints it: as ``heartbit_site.cli.describe.run_summary``."""
    # A former server lists whole runs, and does not say how long a task is.
    listed = {name: run[name] for name in FIELDS if name not in {"output", "structured"}}
    return {**listed, "task_characters": run.get("task_characters", len(run["task"]))}


def row(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as `--json` prints it."""
    return {name: run[name] for name in FIELDS}


def described(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run with its sub-agents as `--json` prints it."""
    return {**row(run), "children": [described(child) for child in run["children"]]}


def conclude(run: Mapping[str, Any], *, as_json: bool, watched: bool = False) -> int:
    """Print how a run ended and return the exit code.

    Args:
        run: A run that has ended, as ``GET /runs/{id}`` gives it.
        as_json: Print its machine form, whatever became of it.
        watched: Mark the object as the last line of a stream of JSON.
    """
    if as_json:
        mark = {"type": "result"} if watched else {}
        write_json({**mark, **described(run)})
        return exit_code(run)
    if run["status"] != "succeeded":
        errors.say(reason(run))
        return exit_code(run)
    write(answer(run))
    if run["structured"] is None:
        if not run["output"]:
            note("The model gave an empty answer.")
        elif (run.get("result") or {}).get("finish_reason") == "length":
            note("The answer was cut at max_tokens of its agent.")
    return exit_code(run)


def answer(run: Mapping[str, Any]) -> str:
    """What a run that succeeded says."""
    structured = run["structured"]
    return readable_json(structured) if structured is not None else run["output"] or ""


def exit_code(run: Mapping[str, Any]) -> int:
    """The exit code that a run's end means."""
    match run["status"]:
        case "succeeded":
            return errors.OK
        case "cancelled":
            return errors.CANCELLED
        case _:
            return errors.FAILED


def reason(run: Mapping[str, Any]) -> str:
    """Why a run ended without an answer, in one sentence."""
    if run["status"] == "cancelled":
        return "The run was cancelled."
    error = run["error"]
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or f"The run {run['status']} without a reason; its journal says more.")


def past(run: Mapping[str, Any]) -> str:
    """What became of it, after its name."""
    status = str(run["status"])
    return f"was {status}" if status in ("cancelled", "quarantined") else status


def warn_without_worker(run: Mapping[str, Any]) -> None:
    """Say so when a run waits for workers that are not there."""
    if run["status"] in LIVE and not run["has_worker"]:
        note(
            f"No worker serves the queue {run['queue']} now, so the run waits: "
            "`heartbit serve` starts one."
        )
