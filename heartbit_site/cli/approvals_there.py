"""`heartbit approve` and `heartbit settle` at a server.

No Django: a machine with an address and a key is enough.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from agents.errors import InvalidEditError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli import docket, remote
from heartbit_site.cli.choices import Answer, Approve, Choice, Deny, Edit, Settle, done, value_of
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.kinds import APPROVAL, DOUBT, OUTCOME, QUESTION
from heartbit_site.cli.question import WaitingCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heartbit_site.cli.choices import Order, Word
    from heartbit_site.cli.kinds import Kind
    from heartbit_site.cli.remote import Server

SHORTEST_PREFIX: Final = 8  # as at home


class ServersDesk:
    """Implements `choices.Desk`; requests are made in threads, for the keyboard must not wait."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def decide(self, call: WaitingCall, choice: Choice) -> str:
        """Decide the call; see `choices.Desk`."""
        await asyncio.to_thread(self._decide, call, choice)
        return done(call, choice)

    def _decide(self, call: WaitingCall, choice: Choice) -> None:
        named = docket.described(call)
        match choice:
            case Approve(scope, until):
                end = until.isoformat() if until is not None else None
                always = {"scope": scope, "until": end} if scope is not None else None
                remote.decide(self._server, named, "approve", always=always)
            case Edit(arguments):
                value = _object(arguments)
                with _checked_there():
                    remote.decide(self._server, named, "edit", arguments=value)
            case Answer():
                said = value_of(call, choice)
                with _checked_there():
                    remote.decide(self._server, named, "answer", answer=said)
            case Deny(reason):
                remote.decide(self._server, named, "deny", reason=reason)
            case Settle(outcome, result):
                remote.settle(self._server, named, outcome, result)

    async def closed(self, call: WaitingCall) -> str | None:
        """Whether the server lists the call no more; who decided, only a conflict says."""
        waiting = await asyncio.to_thread(_waiting, self._server, call.kind)
        if any(_named(found) == _named(call) for found in waiting):
            return None
        return "The call waits no longer: somebody decided it, or its run has ended."


@contextmanager
def _checked_there() -> Iterator[None]:
    """What the server finds wrong with a person's own words can be mended by them."""
    try:
        yield
    except CommandError as error:
        if error.code != USAGE:
            raise
        raise InvalidEditError(str(error)) from error


def overview(server: Server, kind: Kind = APPROVAL, *, as_json: bool) -> int:
    """List what waits there; on a terminal, then ask about it."""
    docket.show(_waiting(server, kind), ServersDesk(server), kind, as_json=as_json)
    return OK


def of_run(
    server: Server,
    text: str,
    call_id: str | None,
    order: Order | Word,
    kind: Kind = APPROVAL,
    *,
    as_json: bool,
) -> int:
    """Decide what waits in a run and its sub-agents."""
    choice = order.choice()
    prefix = text.strip().lower().replace("-", "")
    if len(prefix) < SHORTEST_PREFIX:
        raise CommandError(f"A run's id begins with at least {SHORTEST_PREFIX} letters.", USAGE)
    waiting = _waiting(server, kind)
    calls = [call for call in waiting if call.run_id.hex.startswith(prefix)]
    roots = {call.root_id for call in waiting if call.root_id.hex.startswith(prefix)}
    calls = [call for call in waiting if call.root_id in roots] if roots else calls
    if len(roots or {call.run_id for call in calls}) > 1:
        raise CommandError(f"Several runs begin with {text}: write more of the id.", USAGE)
    calls = docket.pick(calls, call_id, order.digest)
    if not calls:
        raise CommandError(
            f"Nothing waits for {kind.subject} in run {text} (any more): "
            f"`heartbit {kind.command}` lists what does."
        )
    return docket.settle(calls, choice, ServersDesk(server), as_json=as_json)


def _waiting(server: Server, kind: Kind) -> list[WaitingCall]:
    found = remote.doubts(server) if kind is OUTCOME else remote.waiting(server)
    return [_call(each, kind) for each in found]


def _named(call: WaitingCall) -> tuple[UUID, str, str]:
    return call.run_id, call.question, call.digest


def _call(found: Mapping[str, Any], kind: Kind) -> WaitingCall:
    since = found.get("since")
    form = found.get("form")
    return WaitingCall(
        id=0,
        run_id=UUID(found["run"]),
        root_id=UUID(found["root"]),
        call_id=found["call"],
        agent=found["agent"],
        tool=found["tool"],
        effect=found["effect"],
        reason=found.get("reason", DOUBT),
        arguments=found["arguments"],
        digest=found.get("digest", ""),
        since=datetime.fromisoformat(since) if since else None,
        home=found.get("home", ""),
        queue=found.get("queue", ""),
        kind=kind if form is None else QUESTION,
        key=found.get("question", ""),
        form=form,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise InvalidEditError(str(error)) from error
    if not isinstance(value, dict):
        raise InvalidEditError('The arguments are a JSON object, such as {"name": "value"}.')
    return value
