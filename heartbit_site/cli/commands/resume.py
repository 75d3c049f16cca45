"""`heartbit resume`."""

from __future__ import annotations

from heartbit_site.cli.following.streams import stay
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.output import note
from heartbit_site.cli.views.outcome import warn_without_worker


def resume(run: str = common.RUN, *, plain: bool = common.PLAIN) -> int:
    """Resume a local run whose process has ended.

    A run of `heartbit run` resumes in this process; a run on the fleet is watched. A quarantined
    run resumes as well, in a process of its own. Without a terminal, a run that waits for a person
    is left, and the command that decides is named (exit code 4).
    """
    ensure_ready("heartbit_site.cli.following.local_runs", "heartbit_site.cli.backend.local")
    from agents.actions.runs import resume_run, unquarantine_run
    from agents.choices import RunStatus
    from agents.models import Agent, Run
    from agents.querysets import find_any_run
    from heartbit_site.base.os_user import terminal_user
    from heartbit_site.cli.backend.local import LocalBackend
    from heartbit_site.cli.following.local_runs import stay_here
    from heartbit_site.cli.installation.preflight import check_run
    from heartbit_site.first_start import default_workspace
    from heartbit_site.operations.run_views import detail

    workspace = default_workspace()
    named = find_any_run(workspace, run)
    if named.status == RunStatus.QUARANTINED:
        unquarantine_run(named, by=terminal_user())
        note(f"Run {named.pk} leaves its quarantine and continues, alone in a process.")
        named.refresh_from_db()
    found = resume_run(named)
    root = Run.objects.select_related("version__agent").get(pk=found.root_id)
    if not found.takes_over:
        if found.executor:
            note(f"Process {found.executor} works on it; this one watches.")
        else:
            warn_without_worker(detail(root))
        return stay(LocalBackend(), detail(root), plain=plain, leaves=True)
    pinned: Agent = root.version.agent
    pinned.current_version = root.version  # what it runs with, whatever was published since
    check_run(pinned, root.model)

    note(f"Going on with run {root.pk} here.")
    return stay_here(workspace, lambda: root.pk, plain=plain, leaves=True)
