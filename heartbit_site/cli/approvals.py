"""`heartbit approve`: what waits for a person, and their decision."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from django.db import connections

from agents.actions.resume_run import executor_of
from agents.choices import Home
from agents.errors import NoLongerOpenError
from agents.models import Decision, Run
from agents.querysets import find_run
from heartbit_site.cli.asking import Asking
from heartbit_site.cli.choices import Approve, Choice, Order
from heartbit_site.cli.deciding import OwnDesk, decide, this_person
from heartbit_site.cli.errors import FAILED, OK, USAGE, CommandError
from heartbit_site.cli.escape import compact_json, visible
from heartbit_site.cli.fleet import warn_without_worker
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.output import note, one_line, seconds, write, write_json
from heartbit_site.cli.table import print_table
from heartbit_site.cli.waiting import closed, described, short_id, waiting_calls
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.cli.question import WaitingCall

ARGUMENTS_WIDTH: Final = 60
COLUMNS: Final = ("RUN", "CALL", "WAITS", "AGENT", "TOOL")


def overview(*, as_json: bool) -> int:
    """List what waits; on a terminal, then ask about it."""
    calls = waiting_calls(default_workspace())
    if as_json:
        write_json({"calls": [described(call) for call in calls]})
        return OK
    if not calls:
        write("Nothing waits for a decision.")
        return OK
    if is_interactive():
        _ask(calls)
        return OK
    print_table(COLUMNS, [_cells(call) for call in calls])
    return OK


def of_run(text: str, call_id: str | None, order: Order, *, as_json: bool) -> int:
    """Decide what waits in a run and its sub-agents."""
    choice = order.choice()
    run = find_run(default_workspace(), text)
    calls = _named(run, call_id, order.digest)
    if as_json and choice is None:
        write_json({"calls": [described(call) for call in calls]})
        return OK
    if choice is None:
        if not is_interactive():
            raise CommandError(
                "Say --yes, --edit JSON or --deny REASON: there is no terminal to ask at.", USAGE
            )
        _ask(calls)
        return OK
    if len(calls) > 1 and not isinstance(choice, Approve):
        names = ", ".join(_name(call, run) for call in calls)
        raise CommandError(
            f"{len(calls)} calls wait in run {short_id(run.pk)}: name one of {names}.", USAGE
        )
    return _decide_all(calls, choice, as_json=as_json)


def _named(run: Run, call_id: str | None, digest: str) -> list[WaitingCall]:
    """The calls that are meant.

    Raises:
        CommandError: None of them waits (any more).
    """
    waiting = waiting_calls(default_workspace(), run)
    calls = [call for call in waiting if call_id in (None, call.call_id)]
    if len({call.run_id for call in calls}) > 1 and call_id is not None:
        runs = ", ".join(str(call.run_id) for call in calls)
        raise CommandError(f"Several runs have a call {call_id}: name one of {runs}.", USAGE)
    if digest and calls:
        calls = [call for call in calls if call.digest == digest]
        if not calls:
            raise CommandError("The call is not the one that was shown: look at it again.")
    if calls:
        return calls
    raise CommandError(_why_not(run, call_id))


def _why_not(run: Run, call_id: str | None) -> str:
    """Why nothing is left to decide: who was quicker, if somebody was."""
    found = Decision.objects.filter(run__root_id=run.root_id)
    found = found.filter(run=run) if run.parent_id is not None else found
    decision = (found.filter(call_id=call_id) if call_id else found).order_by("-at").first()
    name = short_id(run.pk)
    if decision is not None:
        by = visible(decision.decided_by) or "somebody"
        call = "The call" if call_id else f"Nothing waits any more in run {name}: its last call"
        return f"{call} was already {decision.verdict} by {by}."
    problem = f"The call {call_id} does not wait" if call_id else "Nothing waits"
    return f"{problem} for a decision in run {name}: `heartbit approve` lists what does."


def _name(call: WaitingCall, run: Run) -> str:
    if call.run_id == run.pk:
        return call.call_id
    return f"{call.call_id} (of run {short_id(call.run_id)}, {visible(call.agent)})"


def _decide_all(calls: Sequence[WaitingCall], choice: Choice, *, as_json: bool) -> int:
    """One by one; each is decided as it was read here."""
    by = this_person("terminal")
    if len(calls) > 1 and not as_json:
        note(f"{len(calls)} calls wait; they are approved one by one.")
    decided, code = [], OK
    for call in calls:
        try:
            said = decide(call, choice, by)
        except NoLongerOpenError as error:
            # What an "always" has just covered was decided by this very person.
            reason = closed(call) or str(error)
            if len(calls) == 1:
                raise CommandError(reason, FAILED) from error
            note(f"{call.call_id}: {reason}")
            code = code if by.name in reason else FAILED
            continue
        decided.append(call)
        if not as_json:
            write(f"{said.removesuffix('.')}: {compact_json(dict(call.arguments))}")
    if as_json:
        write_json({"decided": [described(call) for call in decided]})
    for call in _by_root(decided):
        _warn(call)
    return code


def _ask(calls: Sequence[WaitingCall]) -> None:
    connections.close_all()
    asyncio.run(_ask_all(calls))
    for call in _by_root(calls):
        _warn(call)


async def _ask_all(calls: Sequence[WaitingCall]) -> None:
    asking = Asking(OwnDesk(this_person("terminal")))
    for number, call in enumerate(calls, start=1):
        if len(calls) > 1:
            note(f"\n{number} of {len(calls)}".strip())
        await asking.settle(call)


def _by_root(calls: Sequence[WaitingCall]) -> list[WaitingCall]:
    """One call of each tree."""
    return list({call.root_id: call for call in calls}.values())


def _warn(call: WaitingCall) -> None:
    """Say so when nobody is there to go on with the run."""
    run = Run.objects.get(pk=call.run_id)
    if run.finished_at is not None or closed(call) is None:
        return
    if run.home == Home.FLEET:
        warn_without_worker(run)
    elif executor_of(call.root_id) is None:
        note(f"Its process has ended: `heartbit resume {short_id(call.root_id)}` goes on with it.")
