"""`heartbit resume`: resume a run, here if no other process does, and show it to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.actions.resume_run import resume_run
from agents.actions.unquarantine_run import unquarantine_run
from agents.choices import RunStatus
from agents.models import Agent, Run
from agents.querysets import find_run
from heartbit_site.base.os_user import terminal_user
from heartbit_site.cli.local_backend import LocalBackend
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.output import note
from heartbit_site.cli.preflight import check_run
from heartbit_site.cli.run_streams import stay
from heartbit_site.cli.standalone import stay_here
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.run_views import detail

if TYPE_CHECKING:
    from uuid import UUID


def resume(text: str, *, as_json: bool, plain: bool) -> int:
    """Show a live run to its end; resume a local one whose process has ended in this process.

    A quarantined one is live again with this. Without a terminal it is left once it can only wait
    for a person: the commands that decide and go on are said.
    """
    workspace = default_workspace()
    run = find_run(workspace, text)
    if run.status == RunStatus.QUARANTINED:
        unquarantine_run(run, by=terminal_user())
        note(f"Run {run.pk} leaves its quarantine and goes on, alone in a process.")
        run.refresh_from_db()
    found = resume_run(run)
    root = Run.objects.select_related("version__agent").get(pk=found.root_id)
    if not found.takes_over:
        if found.executor:
            note(f"Process {found.executor} works on it; this one watches.")
        else:
            warn_without_worker(detail(root))
        return stay(LocalBackend(), detail(root), as_json=as_json, plain=plain, leaves=True)
    pinned: Agent = root.version.agent
    pinned.current_version = root.version  # what it runs with, whatever was published since
    check_run(pinned, root.model)

    def start() -> UUID:
        return root.pk

    note(f"Going on with run {root.pk} here.")
    return stay_here(workspace, start, as_json=as_json, plain=plain, leaves=True)
