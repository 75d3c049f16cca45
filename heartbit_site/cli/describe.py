"""The machine form of runs (`--json`): one JSON object a run.

    {"run": "0199...", "root": "0199...", "parent": null, "agent": "writer", "home": "fleet",
     "model": "openai:gpt-6-sol", "status": "succeeded", "task": "...", "output": "...",
     "structured": null | the answer as the agent's response schema wants it,
     "error": null | {"kind": "model", "message": "...", ...},
     "usage": {"input_tokens": 512, "output_tokens": 98},
     "created_at": "2026-11-21T23:20:31.123456+00:00", "started_at": ..., "finished_at": ...,
     "children": [ ... the same of each sub-agent ... ]}

`status` is one of queued, running, waiting, succeeded, failed, cancelled, quarantined. Times are
ISO 8601 in UTC or null. `status` and `runs` without a run print `{"runs": [...]}`: of each the
beginning of its task with `task_characters`, and neither `output` nor `structured` nor `children`.

With `--watch` there is a JSON object a line: what is known, what happens (`agents.live.lines`), and
at the end the run::

    {"type": "result", "run": id, ... as above ...}
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from heartbit_site.base.preview import preview

if TYPE_CHECKING:
    from agents.models import Run


def run_tree(run: Run, runs: list[Run]) -> dict[str, Any]:
    """A run with its sub-agents, from the rows of its tree."""
    children = [run_tree(child, runs) for child in runs if child.parent_id == run.pk]
    return {**run_row(run), "children": children}


def run_summary(run: Run) -> dict[str, Any]:
    """One run of a list, without its answer."""
    row = run_row(run)
    del row["output"], row["structured"]
    return {**row, "task": preview(run.task), "task_characters": len(run.task)}


def run_row(run: Run) -> dict[str, Any]:
    """One run."""
    return {
        "run": str(run.pk),
        "root": str(run.root_id),
        "parent": str(run.parent_id) if run.parent_id else None,
        "agent": run.agent,
        "home": run.home,
        "model": run.model,
        "status": run.status,
        "task": run.task,
        "output": run.output,
        "structured": run.structured,
        "error": run.error,
        "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
    }


def _time(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat() if value else None
