"""Named queries."""

from __future__ import annotations

from uuid import UUID

from agents.errors import RunNotFoundError
from agents.models import Run, RunEvent
from heartbit_site.base.models import Workspace


def find_run(workspace: Workspace, run_id: str | UUID) -> Run:
    """The workspace's run with that id, or the beginning of it (at least 8 characters).

    Raises:
        RunNotFoundError: There is none, or the beginning fits several.
    """
    text = str(run_id).strip().lower()
    runs = Run.objects.filter(workspace=workspace)
    found = list(runs.extra(where=["agents_run.id::text LIKE %s"], params=[f"{text}%"])[:2]) if (
        len(text) >= 8 and set(text) <= set("0123456789abcdef-")
    ) else []
    if len(found) != 1:
        problem = "several runs begin" if found else "no run begins"
        raise RunNotFoundError(
            f"In {workspace.slug} {problem} with {text!r}: `heartbit status` lists the last ones."
        )
    return found[0]


def tree(root_id: UUID) -> list[Run]:
    """All runs of a tree, oldest first."""
    return list(Run.objects.filter(root_id=root_id).order_by("created_at", "id"))


def events_after(run_id: UUID, seq: int) -> list[RunEvent]:
    """A run's journal after ``seq``."""
    return list(RunEvent.objects.filter(run_id=run_id, seq__gt=seq).order_by("seq"))
