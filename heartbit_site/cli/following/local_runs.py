"""Runs of this installation beside a command: names, attendants, and processes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from agents.approvals.questions import unasked
from agents.choices import Placement, RunStatus
from agents.errors import ProgramToolsError
from agents.models import Run, Wait
from agents.querysets import find_run
from agents.runtime.execution.executor import executor_of
from agents.runtime.toolset.program_tools import refuse_without_tools_of_tree
from heartbit_site.cli.approvals.kinds import WaitingCall
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.following.approval_watcher import ApprovalWatcher
from heartbit_site.cli.terminal.output import note
from heartbit_site.cli.views.display import Display
from heartbit_site.cli.views.outcome import warn_without_worker
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.approvals import doubt_view
from heartbit_site.operations.run_views import detail

PREFIXES: Final = (13, 18)  # characters of an id that people are shown, if they name one run
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
            note(f"Its process has ended. {_way_on(run.root)}")


def _way_on(root: Run) -> str:
    """Return how a run without a process is continued, as a sentence."""
    try:
        refuse_without_tools_of_tree(root)
    except ProgramToolsError as error:
        return str(error)
    return f"`heartbit resume {short_id(root.pk)}` resumes it."


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


def attendant_of(display: Display, *, leaves: bool) -> ApprovalWatcher:
    """Return what stands beside a run that is shown here; ask the database for the workspace.

    Args:
        display: What shows it.
        leaves: Without a terminal, leave the run once it can only wait for a person.
    """
    return ApprovalWatcher(
        display,
        LocalBackend("inline"),
        name=short_id,
        only_people=only_people if leaves else None,
    )


def only_people(root_id: UUID) -> bool:
    """Return True if nothing but a person's word makes a run of the tree go on."""
    live = Run.objects.filter(root_id=root_id, finished_at__isnull=True)
    # A run that is waited for is one of the live ones itself.
    others = Wait.objects.filter(
        run__in=live, resolved_at__isnull=True, asks_person=False, child_id__isnull=True
    )
    return not live.exclude(status=RunStatus.WAITING).exists() and not others.exists()


def short_id(run_id: UUID) -> str:
    """Return the beginning of a run's id that names it alone."""
    text = str(run_id)
    for length in PREFIXES:
        digits = text[:length].replace("-", "")
        first, last = digits.ljust(32, "0"), digits.ljust(32, "f")
        if Run.objects.filter(pk__range=(first, last)).count() == 1:
            return text[:length]
    return text
