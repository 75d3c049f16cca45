"""`heartbit approve` and `heartbit settle` in the database of this installation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from django.db import connections

from agents.actions.resume_run import executor_of
from agents.choices import Home
from agents.models import Decision, Run
from agents.querysets import find_run
from heartbit_site.cli import docket
from heartbit_site.cli.deciding import OwnDesk, this_person
from heartbit_site.cli.errors import OK, CommandError
from heartbit_site.cli.escape import visible
from heartbit_site.cli.kinds import APPROVAL, OUTCOME
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.output import note
from heartbit_site.cli.waiting import closed, short_id, unasked_calls, waiting_calls
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.run_views import detail

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from heartbit_site.cli.choices import Order, Word
    from heartbit_site.cli.kinds import Kind
    from heartbit_site.cli.question import WaitingCall

CLAIM_SECONDS: Final = 2.0  # within them a process that waited for the word has its run
LOOK_SECONDS: Final = 0.05


def overview(kind: Kind = APPROVAL, *, as_json: bool) -> int:
    """List what waits; on a terminal, then ask about it."""
    workspace = default_workspace()
    calls = waiting_calls(workspace, kind=kind)
    unasked = unasked_calls(workspace) if kind is OUTCOME else []
    connections.close_all()  # questions are answered in other threads, and perhaps late
    docket.show(calls, OwnDesk(this_person("terminal")), kind, as_json=as_json, unasked=unasked)
    _warn(calls)
    return OK


def of_run(
    text: str,
    call_id: str | None,
    order: Order | Word,
    kind: Kind = APPROVAL,
    *,
    as_json: bool,
) -> int:
    """Decide what waits in a run and its sub-agents."""
    choice = order.choice()
    workspace = default_workspace()
    run = find_run(workspace, text)
    calls = docket.pick(waiting_calls(workspace, run, kind), call_id, order.digest)
    if not calls and kind is OUTCOME:
        unasked = unasked_calls(workspace, run)
        if any(call_id in (None, call.call_id) for call in unasked):
            raise CommandError(docket.unasked_sentence(unasked[0]))
    if not calls:
        raise CommandError(_why_not(run, call_id, kind))
    connections.close_all()
    code = docket.settle(calls, choice, OwnDesk(this_person("terminal")), as_json=as_json)
    _warn(calls)
    return code


def _why_not(run: Run, call_id: str | None, kind: Kind) -> str:
    """Why nothing is left to decide: who was quicker, if somebody was."""
    found = Decision.objects.filter(run__root_id=run.root_id, wait_key__startswith=kind.prefix)
    found = found.filter(run=run) if run.parent_id is not None else found
    decision = (found.filter(call_id=call_id) if call_id else found).order_by("-at").first()
    name = short_id(run.pk)
    if decision is not None:
        by = visible(decision.decided_by) or "somebody"
        call = "The call" if call_id else f"Nothing waits any more in run {name}: its last call"
        return f"{call} was already {decision.verdict} by {by}."
    problem = f"The call {call_id} does not wait" if call_id else "Nothing waits"
    return f"{problem} for {kind.subject} in run {name}: `heartbit {kind.command}` lists what does."


def _warn(calls: Sequence[WaitingCall]) -> None:
    """Say so when nobody is there to go on with a run whose call was decided; once a tree."""
    until = time.monotonic() + CLAIM_SECONDS
    for call in {call.root_id: call for call in calls if closed(call) is not None}.values():
        run = Run.objects.get(pk=call.run_id)
        if run.finished_at is not None:
            continue
        if run.home == Home.FLEET:
            warn_without_worker(detail(run))
        elif not _goes_on(call.root_id, until):
            name = short_id(call.root_id)
            note(f"Its process has ended: `heartbit resume {name}` goes on with it.")


def _goes_on(root_id: UUID, until: float) -> bool:
    """Whether a process has the tree, or it is over: who waited for the word needs a moment."""
    while executor_of(root_id) is None:
        # In this order: a process ends in good order once its tree has.
        if not Run.objects.filter(pk=root_id, finished_at__isnull=True).exists():
            return True
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_SECONDS)
    return True
