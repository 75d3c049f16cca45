"""Runs of this installation: executed in this process, watched, named, and what waits in them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connections

from agents.actions.runs import cancel_run
from agents.approvals.questions import unasked
from agents.choices import Placement, RunStatus
from agents.errors import ProgramToolsError
from agents.limits.pauses import RESTORED
from agents.live.follow import TreeReader, follow
from agents.live.updates import Update
from agents.live.valkey import ValkeySubscriber, connect
from agents.models import Run, Wait
from agents.querysets import find_any_run
from agents.runtime.execution.executor import executor_of
from agents.runtime.execution.host import LocalHost
from agents.runtime.toolset.program_tools import refuse_without_tools_of_tree
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.base.os_user import terminal_user
from heartbit_site.cli.approvals.kinds import WaitingCall
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.following.approval_watcher import ApprovalWatcher
from heartbit_site.cli.following.watch import Ending, exit_code, interrupts, watch, watch_until_left
from heartbit_site.cli.terminal.errors import WAITING
from heartbit_site.cli.terminal.output import as_json, note, write_json
from heartbit_site.cli.views.display import Display, progress, watched
from heartbit_site.cli.views.outcome import conclude, run_tree, warn_without_worker
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
    run = find_any_run(workspace, text) if text is not None else None
    return [doubt_view(found) for found in unasked(workspace, run)]


def warn(decided: Iterable[WaitingCall]) -> None:
    """Warn, once a tree, when no process would resume a run whose call was decided."""
    until = time.monotonic() + CLAIM_SECONDS
    for call in {call.root_id: call for call in decided}.values():
        run = Run.objects.get(pk=call.run_id)
        if run.finished_at is not None:
            continue
        if run.home == Placement.RESTORED:
            note(RESTORED.format(run.pk))
        elif run.home == Placement.FLEET:
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


class LocalStream:
    """The updates of runs of this installation."""

    def recorded(self, root: str) -> list[Update]:
        """Return what the journals of a tree hold by now."""
        return TreeReader(UUID(root)).read_new()

    def watch(self, root: str, *, plain: bool, leaves: bool) -> Ending:
        """Show a tree until all of its runs have ended, or the person leaves it.

        Args:
            root: The run at the top.
            plain: Write progress as lines.
            leaves: Leave when the tree can only wait for a person, and there is no terminal.
        """
        display = watched(plain_lines=plain)
        attendant = attendant_of(display, leaves=leaves)
        connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
        root_id = UUID(root)

        async def watch() -> Ending:
            valkey = connect(settings.REDIS_URL)
            try:
                updates = partial(follow, root_id, ValkeySubscriber(valkey))
                return await watch_until_left(root_id, updates, display, attendant)
            finally:
                await valkey.aclose()

        return asyncio.run(watch())


SLOTS: Final = 100
STOP_SECONDS: Final = 5.0


def stay_here(
    workspace: Workspace,
    start: Callable[[], UUID],
    *,
    plain: bool,
    leaves: bool = False,
) -> int:
    """Execute the local run that `start` gives, show it to its end and print its end.

    Args:
        workspace: Where.
        start: Makes the run, or names it.
        plain: Write progress as lines.
        leaves: Leave when the run can only wait for a person, and there is no terminal.
    """
    display = Display() if as_json() else progress(plain_lines=plain)

    def cancel(run_id: UUID) -> None:
        cancel_run(workspace, run_id, reason="Ctrl-C", by=terminal_user())

    attendant = attendant_of(display, leaves=leaves)
    connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
    run_id, left = asyncio.run(_run(start, cancel, display, attendant))
    run = Run.objects.get(pk=run_id)
    if run.finished_at is not None:  # perhaps while the process was about to leave
        return conclude(detail(run))
    name = short_id(run.pk)
    if left is not None:
        note(f"Left the run as it is ({left.name}): resume it with `heartbit resume {name}`.")
        return exit_code(left)
    if attendant.waits:
        note(
            "There is no terminal to ask at; once the call is decided, resume it with "
            f"`heartbit resume {name}`."
        )
        if as_json():
            write_json(run_tree(detail(run)))
        return WAITING
    return conclude(detail(run))


async def _run(
    start: Callable[[], UUID],
    cancel: Callable[[UUID], None],
    display: Display,
    attendant: ApprovalWatcher,
) -> tuple[UUID, signal.Signals | None]:
    """Return the run, and the signal that made the process leave before its end; None: nothing."""
    host = LocalHost(slots=SLOTS)
    cancelling: list[asyncio.Future[None]] = []
    signals: list[signal.Signals] = []
    await host.start()
    with contextlib.ExitStack() as heeding:  # while the host drains as well
        try:
            run_id = await orm.run_in_thread(start)
            watching = asyncio.ensure_future(
                watch(run_id, lambda: follow(run_id, host.window), display, attendant)
            )

            def interrupted() -> None:
                note("Cancelling the run ... (Ctrl-C again leaves at once)")
                cancelling.append(asyncio.ensure_future(orm.run_in_thread(lambda: cancel(run_id))))

            def leave(number: signal.Signals) -> None:
                signals.append(number)
                watching.cancel()

            heeding.enter_context(interrupts(display, interrupted, attendant, leave=leave))
            with display:
                host.execute(run_id)
                await asyncio.wait([watching])
            if not watching.cancelled():
                watching.result()
            await asyncio.gather(*cancelling)
        finally:
            # Running effects end first: a person would have to state the outcome of one cut off.
            drain = settings.HEARTBIT_DRAIN_SECONDS if signals else 0.0
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS + drain):  # a database may answer nothing
                    await host.stop()
    return run_id, signals[0] if signals else None
