"""The calls before a person, here or at a server: listed, picked, asked about, decided.

No Django by itself.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.errors import ConflictError
from heartbit_site.base.untrusted import parse_untrusted_json
from heartbit_site.base.visible_text import compact_json
from heartbit_site.cli.asked_calls import waiting_calls
from heartbit_site.cli.backend import ServerBackend, backend_for
from heartbit_site.cli.choices import Answer, Approve, Choice, Edit, unfit, value_of
from heartbit_site.cli.decision_backend import DecisionBackend, closed
from heartbit_site.cli.errors import FAILED, OK, USAGE, CommandError
from heartbit_site.cli.escape import visible
from heartbit_site.cli.keyboard import is_interactive
from heartbit_site.cli.kinds import APPROVAL, OUTCOME
from heartbit_site.cli.output import note, one_line, seconds, write, write_json
from heartbit_site.cli.prompter import CallPrompter
from heartbit_site.cli.table import Lines
from heartbit_site.contract.approvals import LIST_DECISIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.cli.backend import Backend
    from heartbit_site.cli.choices import ApproveOptions, ResolveOptions
    from heartbit_site.cli.kinds import Kind
    from heartbit_site.cli.question import WaitingCall

ARGUMENTS_WIDTH: Final = 60
RUN_WIDTH: Final = 18  # of an id: its milliseconds and what tells their runs apart
COLUMNS: Final = ("RUN", "CALL", "WAITS", "AGENT", "TOOL")


def answer(
    kind: Kind,
    run: str | None,
    call: str | None,
    order: ApproveOptions | ResolveOptions,
    *,
    url: str | None,
    as_json: bool,
) -> int:
    """List what waits when no run is named, else answer what waits in it; the exit code."""
    if run is None:
        return overview(backend_for(url), kind, as_json=as_json)
    order.choice()  # one that contradicts itself is refused before anything starts
    return of_run(backend_for(url), run, call, order, kind, as_json=as_json)


def overview(backend: Backend, kind: Kind = APPROVAL, *, as_json: bool) -> int:
    """List what waits; on a terminal, then ask about it."""
    calls = waiting_calls(backend, kind)
    unasked = _unasked(backend, kind)
    backend.rest()
    show(calls, DecisionBackend(backend), kind, as_json=as_json, unasked=unasked)
    if not as_json:
        _warn(backend, calls)
    return OK


def of_run(
    backend: Backend,
    text: str,
    call_id: str | None,
    order: ApproveOptions | ResolveOptions,
    kind: Kind = APPROVAL,
    *,
    as_json: bool,
) -> int:
    """Decide what waits in a run and its sub-agents.

    Raises:
        CommandError: Nothing waits there; the sentence names a person who was quicker.
    """
    choice = order.choice()
    calls = pick(waiting_calls(backend, kind, text), call_id, order.digest)
    if not calls:
        for call in _unasked(backend, kind, text):
            if call_id in (None, call.call_id):
                raise CommandError(unasked_sentence(call))
        raise CommandError(_why_not(backend, text, call_id, kind))
    backend.rest()
    code = settle(calls, choice, DecisionBackend(backend), as_json=as_json)
    _warn(backend, calls)
    return code


def _unasked(backend: Backend, kind: Kind, run: str | None = None) -> list[WaitingCall]:
    """Return uncertain calls whose run has to be resumed first; a server has none."""
    if kind is not OUTCOME or isinstance(backend, ServerBackend):
        return []
    from heartbit_site.cli.approvals import unasked_calls  # noqa: PLC0415  needs Django set up

    return unasked_calls(run)


def _warn(backend: Backend, calls: Sequence[WaitingCall]) -> None:
    if not isinstance(backend, ServerBackend):
        decided = [call for call in calls if closed(backend, call) is not None]
        from heartbit_site.cli.approvals import warn  # noqa: PLC0415  needs Django set up

        warn(decided)


def _why_not(backend: Backend, text: str, call_id: str | None, kind: Kind) -> str:
    """Return why nothing is left to decide, with the person who was quicker."""
    name = one_line(text.strip())[:36]
    for decision in backend.every(LIST_DECISIONS, run_id=text).decisions:
        if call_id in (None, decision.call_id) and decision.verdict in kind.verdicts:
            by = visible(decision.by) or "somebody"
            call = f"Nothing waits any more in run {name}: its last call"
            call = "The call" if call_id else call
            return f"{call} was already {decision.verdict} by {by}."
    problem = f"The call {call_id} does not wait" if call_id else "Nothing waits"
    return f"{problem} for {kind.subject} in run {name}: `heartbit {kind.command}` lists what does."


def show(
    calls: Sequence[WaitingCall],
    desk: DecisionBackend,
    kind: Kind = APPROVAL,
    *,
    as_json: bool,
    unasked: Sequence[WaitingCall] = (),
) -> None:
    """List what waits; on a terminal, ask about it.

    Args:
        calls: What waits.
        desk: Where it is decided.
        kind: What is said when nothing waits.
        as_json: Print one object and ask nothing.
        unasked: Uncertain calls whose run has to be resumed first.
    """
    if as_json:
        more = {"unasked": [described(call) for call in unasked]} if kind is OUTCOME else {}
        write_json({"calls": [described(call) for call in calls], **more})
        return
    for call in unasked:
        write(unasked_sentence(call))
    if not calls:
        if unasked:
            return
        write(kind.nothing)
    elif is_interactive():
        asyncio.run(_ask_all(calls, desk))
    else:
        Lines(COLUMNS, [_cells(call) for call in calls]).print()


def settle(
    calls: Sequence[WaitingCall], choice: Choice | None, desk: DecisionBackend, *, as_json: bool
) -> int:
    """Decide the calls that were named, or ask about them; the exit code.

    Raises:
        CommandError: There are several for one answer, no terminal, a quicker person, or the
            answer is none to such a call.
    """
    if choice is None:
        if not as_json and not is_interactive():
            raise CommandError(
                f"Say {calls[0].kind.options}: there is no terminal to ask at.", USAGE
            )
        show(calls, desk, as_json=as_json)
        return OK
    if len(calls) > 1 and not isinstance(choice, Approve):
        names = ", ".join(f"{call.call_id} of run {str(call.run_id)[:RUN_WIDTH]}" for call in calls)
        raise CommandError(f"{len(calls)} calls wait in that run: name one of {names}.", USAGE)
    problem = unfit(calls[0], choice)
    if problem is not None and len(calls) == 1:
        raise CommandError(problem, USAGE)
    return asyncio.run(_decide_all(calls, choice, desk, as_json=as_json))


def unasked_sentence(call: WaitingCall) -> str:
    """Say how to settle a call of a run whose process has died."""
    run = str(call.root_id)[:RUN_WIDTH]
    return (
        f"The process of run {run} died while {visible(call.tool)} of {visible(call.agent)} ran: "
        f"`heartbit resume {run}` asks what became of it."
    )


def pick(calls: Sequence[WaitingCall], call_id: str | None, digest: str) -> list[WaitingCall]:
    """Return the named calls of a run's waiting ones; empty: the call no longer waits.

    Raises:
        CommandError: It is not the one that was shown, or the name fits several.
    """
    found = [call for call in calls if call_id in (None, call.call_id)]
    if call_id is not None and len(found) > 1:
        runs = ", ".join(str(call.run_id) for call in found)
        raise CommandError(f"Several runs have a call {call_id}: name one of {runs}.", USAGE)
    shown = [call for call in found if digest in ("", call.digest)]
    if found and not shown:
        raise CommandError("The call is not the one that was shown: look at it again.")
    return shown


def described(call: WaitingCall) -> dict[str, Any]:
    """Return a call as JSON."""
    named: dict[str, Any] = {"question": call.question}
    if call.kind is not OUTCOME:
        named = {
            "digest": call.digest,
            "answer_schema": dict(call.form) if call.form is not None else None,
        }
    return {
        "run_id": str(call.run_id),
        "root_id": str(call.root_id),
        "call_id": call.call_id,
        "agent": call.agent,
        "tool": call.tool,
        "effect": call.effect,
        "reason": call.reason,
        "arguments": dict(call.arguments),
        **named,
        "waiting_since": call.since.astimezone(UTC).isoformat() if call.since else None,
    }


async def _decide_all(
    calls: Sequence[WaitingCall], choice: Choice, desk: DecisionBackend, *, as_json: bool
) -> int:
    """Decide calls one by one, each as it was read here."""
    if len(calls) > 1 and not as_json:
        note(f"{len(calls)} calls wait; they are approved one by one.")
    decided: list[WaitingCall] = []
    code = OK
    for call in calls:
        problem = unfit(call, choice)
        if problem is not None:  # the others need not wait for it
            note(problem)
            code = FAILED
            continue
        try:
            said = await desk.decide(call, choice)
        except ConflictError as error:
            reason = await desk.closed(call) or str(error)
            if len(calls) == 1:
                raise CommandError(reason, FAILED) from error
            note(f"{call.call_id}: {reason}")
            covered = isinstance(choice, Approve) and choice.always is not None and decided
            code = code if covered else FAILED  # by what was just allowed for good
            continue
        decided.append(call)
        if not as_json:
            write(f"{said.removesuffix('.')}: {compact_json(_running(call, choice))}")
    if as_json:
        write_json({"decided": [described(call) for call in decided]})
    return code


def _running(call: WaitingCall, choice: Choice) -> object:
    """Return the decided arguments: with an edit, the new ones; of a question, the answer.

    Denied, it is shown as it was asked.
    """
    match choice:
        case Edit(arguments):
            return parse_untrusted_json(arguments)
        case Answer():
            return value_of(call, choice)
    return dict(call.arguments)


async def _ask_all(calls: Sequence[WaitingCall], desk: DecisionBackend) -> None:
    asking = CallPrompter(desk)
    for number, call in enumerate(calls, start=1):
        if len(calls) > 1:
            note(f"{number} of {len(calls)}")
        await asking.settle(call)


def _cells(call: WaitingCall) -> tuple[str, ...]:
    waited = (datetime.now(UTC) - call.since).total_seconds() if call.since else None
    arguments = one_line(compact_json(dict(call.arguments)), ARGUMENTS_WIDTH)
    return (
        str(call.run_id)[:RUN_WIDTH],
        call.call_id,
        "" if waited is None else seconds(waited),
        visible(call.agent)[:RUN_WIDTH],
        f"{one_line(call.tool, 40)} {arguments}",
    )
