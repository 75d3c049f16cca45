"""The attendant of a run of this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.choices import RunStatus
from agents.models import Run, Wait
from heartbit_site.cli.approval_watcher import ApprovalWatcher
from heartbit_site.cli.local_backend import LocalBackend
from heartbit_site.cli.short_id import short_id

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.cli.display import Display


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
