"""Decisions in the database of this installation."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Literal

from agents.actions.decide_call import Always, Decider, approve_call, deny_call, edit_call
from agents.actions.settle_call import settle_call
from agents.choices import Outcome
from agents.models import ToolCall
from heartbit_site.base import orm
from heartbit_site.cli.choices import Approve, Choice, Deny, Edit, Settle, done
from heartbit_site.cli.waiting import closed

if TYPE_CHECKING:
    from heartbit_site.cli.question import WaitingCall


def this_person(via: Literal["terminal", "inline"]) -> Decider:
    """Whoever runs this process."""
    return Decider(name=_login(), via=via)


def author() -> str:
    """The same, as journals and versions name who did something."""
    return f"{_login()} at a terminal"


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an id without a name, as in some containers
        return "somebody"


class OwnDesk:
    """Implements `choices.Desk`."""

    def __init__(self, by: Decider) -> None:
        self.by = by

    async def decide(self, call: WaitingCall, choice: Choice) -> str:
        """Decide the call; see `choices.Desk`."""
        return await orm.in_thread(lambda: decide(call, choice, self.by))

    async def closed(self, call: WaitingCall) -> str | None:
        """Why the call waits no longer."""
        return await orm.in_thread(lambda: closed(call))


def decide(call: WaitingCall, choice: Choice, by: Decider) -> str:
    """Decide the call as it was shown and say, in one sentence, what was done.

    Raises:
        InvalidEditError: The arguments do not fit the tool; nothing was decided.
        NoLongerOpenError: Somebody was quicker, or the run has ended.
    """
    row = ToolCall.objects.select_related("run__workspace", "run__version__agent").get(pk=call.id)
    match choice:
        case Approve(scope, until):
            always = Always(scope, until) if scope is not None else None
            approve_call(row, digest=call.digest, by=by, always=always)
        case Edit(arguments):
            edit_call(row, digest=call.digest, by=by, arguments=arguments)
        case Deny(reason):
            deny_call(row, digest=call.digest, by=by, reason=reason)
        case Settle(outcome, result):
            settle_call(row, Outcome(outcome), by=by, result=result)
    return done(call, choice)
