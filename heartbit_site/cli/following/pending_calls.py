"""The calls before a person, here or at a server: listed, picked, asked about, decided.

No Django by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from heartbit_site.base.amounts import duration
from heartbit_site.base.effect_text import UNCERTAIN_CALL
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.untrusted import parse_untrusted_json
from heartbit_site.base.visible_text import compact_json
from heartbit_site.cli.approvals import kinds
from heartbit_site.cli.approvals.decisions import CallChoice, closed, decide, unfit, value_of
from heartbit_site.cli.approvals.prompter import CallPrompter
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import FAILED, OK, CommandError, UsageError
from heartbit_site.cli.terminal.keyboard import is_interactive
from heartbit_site.cli.terminal.margin import visible
from heartbit_site.cli.terminal.output import as_json, note, one_line, write, write_json
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract.approvals import LIST_DECISIONS

ARGUMENTS_WIDTH: Final = 60
#: What is printed of a call; an answer of the REST API says more.
DESCRIBED: Final = {
    *("run_id", "root_id", "call_id", "agent", "tool", "effect", "reason", "arguments"),
    *("summary", "question", "digest", "answer_schema", "waiting_since"),
}


def list_or_decide(
    kind: kinds.Kind,
    run: str | None,
    call: str | None,
    choice: CallChoice | None,
    *,
    digest: str = "",
) -> int:
    """List what waits when no run is named, else decide what waits in it; the exit code."""
    if run is None and choice is not None:
        command = kind.wait.command
        raise UsageError(f"Name the run whose calls are decided: `heartbit {command}` lists.")
    server = backend()
    if run is None:
        return overview(server, kind)
    return of_run(server, run, call, choice, kind, digest=digest)


def overview(server: Backend, kind: kinds.Kind = kinds.APPROVAL) -> int:
    """List what waits; on a terminal, then ask about it."""
    calls = kinds.waiting_calls(server, kind)
    unasked = _unasked(server, kind)
    server.rest()
    if as_json():
        more = {"unasked": [described(call) for call in unasked]} if kind is kinds.OUTCOME else {}
        write_json({"calls": [described(call) for call in calls], **more})
        return OK
    for call in unasked:
        write(unasked_sentence(call))
    if calls and is_interactive():
        asyncio.run(_ask_all(calls, server))
    elif calls:
        CALLS.print(calls)
    elif not unasked:
        write(kind.nothing)
    _warn(server, calls)
    return OK


def of_run(
    server: Backend,
    run: str,
    call_id: str | None,
    choice: CallChoice | None,
    kind: kinds.Kind = kinds.APPROVAL,
    *,
    digest: str = "",
) -> int:
    """Decide what waits in a run and its sub-agents.

    Args:
        server: Where.
        run: The run's id, or how it begins.
        call_id: Only this call; None: each that waits.
        choice: What is decided; None: the person is asked.
        kind: What is asked about.
        digest: Only the call that was shown with it; empty: any.

    Raises:
        CommandError: Nothing waits there; the sentence names a person who was quicker.
    """
    calls = pick(kinds.waiting_calls(server, kind, run), call_id, digest)
    if not calls:
        for call in _unasked(server, kind, run):
            if call_id in (None, call.call_id):
                raise CommandError(unasked_sentence(call))
        raise CommandError(_why_not(server, run, call_id, kind))
    server.rest()
    code = settle(calls, choice, server)
    _warn(server, calls)
    return code


def _unasked(server: Backend, kind: kinds.Kind, run: str | None = None) -> list[kinds.WaitingCall]:
    """Return uncertain calls whose run has to be resumed first; a server has none."""
    if kind is not kinds.OUTCOME or isinstance(server, ServerBackend):
        return []
    from heartbit_site.cli.following.local_runs import unasked_calls  # noqa: PLC0415  needs Django set up

    return unasked_calls(run)


def _warn(server: Backend, calls: Sequence[kinds.WaitingCall]) -> None:
    if not isinstance(server, ServerBackend):
        decided = [call for call in calls if closed(server, call) is not None]
        from heartbit_site.cli.following.local_runs import warn  # noqa: PLC0415  needs Django set up

        warn(decided)


def _why_not(server: Backend, text: str, call_id: str | None, kind: kinds.Kind) -> str:
    """Return why nothing is left to decide, with the person who was quicker."""
    name = one_line(text.strip())[:36]
    for decision in server.every(LIST_DECISIONS, run_id=text).decisions:
        if call_id in (None, decision.call_id) and decision.verdict in kind.verdicts:
            by = visible(decision.by) or "somebody"
            call = f"Nothing waits any more in run {name}: its last call"
            call = "The call" if call_id else call
            return f"{call} was already {decision.verdict} by {by}."
    problem = f"The call {call_id} does not wait" if call_id else "Nothing waits"
    wait = kind.wait
    return (
        f"{problem} for {wait.waits_for} in run {name}: `heartbit {wait.command}` lists what does."
    )


def settle(calls: Sequence[kinds.WaitingCall], choice: CallChoice | None, server: Backend) -> int:
    """Decide the calls that were named, or ask about them; the exit code.

    Raises:
        CommandError: There are several for one answer, no terminal, a quicker person, or the
            answer is none to such a call.
    """
    if choice is None and as_json():
        write_json({"calls": [described(call) for call in calls]})
        return OK
    if choice is None:
        if not is_interactive():
            raise UsageError(
                f"Say {kinds.kind_of(calls[0]).options}: there is no terminal to ask at."
            )
        asyncio.run(_ask_all(calls, server))
        return OK
    if len(calls) > 1 and choice.verdict != "approve":
        names = ", ".join(
            f"{call.call_id} of run {call.run_id[: common.SHORT_ID]}" for call in calls
        )
        raise UsageError(f"{len(calls)} calls wait in that run: name one of {names}.")
    problem = unfit(calls[0], choice)
    if problem is not None and len(calls) == 1:
        raise UsageError(problem)
    return asyncio.run(_decide_all(calls, choice, server))


def unasked_sentence(call: kinds.WaitingCall) -> str:
    """Say how to settle a call of a run whose process has died."""
    run = call.root_id[: common.SHORT_ID]
    return (
        f"The process of run {run} died while {visible(call.tool)} of {visible(call.agent)} ran: "
        f"`heartbit resume {run}` asks what became of it."
    )


def pick(
    calls: Sequence[kinds.WaitingCall], call_id: str | None, digest: str
) -> list[kinds.WaitingCall]:
    """Return the named calls of a run's waiting ones; empty: the call no longer waits.

    Raises:
        CommandError: It is not the one that was shown, or the name fits several.
    """
    found = [call for call in calls if call_id in (None, call.call_id)]
    if call_id is not None and len(found) > 1:
        runs = ", ".join(call.run_id for call in found)
        raise UsageError(f"Several runs have a call {call_id}: name one of {runs}.")
    shown = [call for call in found if digest in ("", getattr(call, "digest", ""))]
    if found and not shown:
        raise CommandError("The call is not the one that was shown: look at it again.")
    return shown


def described(call: kinds.WaitingCall) -> dict[str, Any]:
    """Return a call as JSON."""
    shown = call.model_dump(mode="json", include=DESCRIBED)
    return shown if "reason" in shown else {**shown, "reason": UNCERTAIN_CALL}


async def _decide_all(
    calls: Sequence[kinds.WaitingCall], choice: CallChoice, server: Backend
) -> int:
    """Decide calls one by one, each as it was read here."""
    if len(calls) > 1 and not as_json():
        note(f"{len(calls)} calls wait; they are approved one by one.")
    decided: list[kinds.WaitingCall] = []
    code = OK
    for call in calls:
        problem = unfit(call, choice)
        if problem is not None:  # the others need not wait for it
            note(problem)
            code = FAILED
            continue
        try:
            said = await decide(server, call, choice)
        except ConflictError as error:
            reason = await server.in_thread(partial(closed, server, call)) or str(error)
            if len(calls) == 1:
                raise CommandError(reason, FAILED) from error
            note(f"{call.call_id}: {reason}")
            covered = choice.always is not None and decided
            code = code if covered else FAILED  # by what was just allowed for good
            continue
        decided.append(call)
        if not as_json():
            write(f"{said.removesuffix('.')}: {compact_json(_running(call, choice))}")
    if as_json():
        write_json({"decided": [described(call) for call in decided]})
    return code


def _running(call: kinds.WaitingCall, choice: CallChoice) -> object:
    """Return the decided arguments: with an edit, the new ones; of a question, the answer.

    Denied, it is shown as it was asked.
    """
    if choice.verdict == "edit":
        return parse_untrusted_json(choice.text)
    return value_of(call, choice.text) if choice.verdict == "answer" else call.arguments


async def _ask_all(calls: Sequence[kinds.WaitingCall], server: Backend) -> None:
    asking = CallPrompter(server)
    for number, call in enumerate(calls, start=1):
        if len(calls) > 1:
            note(f"{number} of {len(calls)}")
        await asking.settle(call)


def _waited(call: kinds.WaitingCall) -> str:
    return duration(datetime.now(UTC) - call.waiting_since) if call.waiting_since else ""


CALLS: Final = Table[kinds.WaitingCall](
    {
        "RUN": lambda call: call.run_id[: common.SHORT_ID],
        "CALL": lambda call: call.call_id,
        "WAITS": _waited,
        "AGENT": lambda call: visible(call.agent)[: common.SHORT_ID],
        "TOOL": lambda call: (
            f"{one_line(call.tool, 40)} "
            f"{one_line(call.summary or compact_json(call.arguments), ARGUMENTS_WIDTH)}"
        ),
    }
)
