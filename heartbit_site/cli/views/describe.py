"""The machine form of runs (`--json`): one JSON object a run. No Django.

    {"id": "0199...", "root_id": "0199...", "parent_id": null, "kind": "agent", "agent": "writer",
     "placement": "fleet", "model": "openai:gpt-6-sol", "status": "succeeded", "task": "...",
     "output": "...",
     "structured": null | the answer as the agent's response schema wants it,
     "error": null | {"kind": "model", "message": "...", ...},
     "usage": {"input_tokens": 512, "output_tokens": 98},
     "created_at": "2026-11-21T23:20:31.123456+00:00", "started_at": ..., "finished_at": ...,
     "children": [ ... the same of each sub-agent ... ]}

`status` is one of queued, running, waiting, succeeded, failed, cancelled, quarantined. Times are
ISO 8601 in UTC or null. `status` and `runs` without a run print `{"runs": [...]}`: of each the
beginning of its task with `task_characters`, and neither `output` nor `structured` nor `children`.

With `--watch` there is a JSON object a line: what is known, what happens
(`agents.live.tree_view`), and at the end the run::

    {"type": "result", "id": id, ... as above ...}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from heartbit_site.contract.runs import RunSummaryOut, RunTreeOut

#: What is printed of a run; an answer of the REST API says more.
FIELDS: Final = {
    *("id", "root_id", "parent_id", "kind", "agent", "placement", "model", "status"),
    *("task", "output"),
    *("structured", "error", "usage", "created_at", "started_at", "finished_at"),
}


def run_tree(run: RunTreeOut) -> dict[str, Any]:
    """Return a run with its sub-agents."""
    children = [run_tree(child) for child in run.children]
    return {**run.model_dump(mode="json", include=FIELDS), "children": children}


def run_summary(run: RunSummaryOut) -> dict[str, Any]:
    """Return a run of a list, without its answer."""
    return run.model_dump(mode="json", include={*FIELDS, "task_characters"})
