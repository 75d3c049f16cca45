"""Calls of this installation, for `heartbit approve` and `heartbit resolve`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from uuid import UUID

from agents.approvals.uncertain_calls import unasked
from agents.choices import Placement
from agents.models import Run
from agents.querysets import find_run
from agents.runtime.executor import executor_of
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.output import note
from heartbit_site.cli.short_id import short_id
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.approvals import doubt_view
from heartbit_site.operations.run_views import detail

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heartbit_site.cli.kinds import WaitingCall

CLAIM_SECONDS: Final = 2.0  # within them a process that waited for the word has its run
LOOK_SECONDS: Final = 0.05


def unasked_calls(text: str | None = None) -> list[WaitingCall]:
    """Return the calls in doubt of local runs whose process died, before anybody is asked.

    Args:
        text: Only of this run and its sub-agents.
    """
    workspace = default_workspace()
    run = find_run(workspace, text) if text is not None else None
    return [doubt_view(found) for found in unasked(workspace, run)]


def warn(decided: Iterable[WaitingCall]) -> None:
    """Warn, once a tree, when no process would resume a run whose call was decided."""
    until = time.monotonic() + CLAIM_SECONDS
    for call in {call.root_id: call for call in decided}.values():
        run = Run.objects.get(pk=call.run_id)
        if run.finished_at is not None:
            continue
        if run.home == Placement.FLEET:
            warn_without_worker(detail(run))
        elif not _goes_on(UUID(call.root_id), until):
            name = short_id(UUID(call.root_id))
            note(f"Its process has ended: `heartbit resume {name}` goes on with it.")


def _goes_on(root_id: UUID, until: float) -> bool:
    """Return True if a process has the tree, or it has ended, within a moment."""
    while executor_of(root_id) is None:
        # In this order: a process ends in good order once its tree has.
        if not Run.objects.filter(pk=root_id, finished_at__isnull=True).exists():
            return True
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_SECONDS)
    return True
