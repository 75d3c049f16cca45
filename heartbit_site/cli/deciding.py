"""Decisions in the database of this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agents.actions.decide_call import (
    Always,
    Decider,
    answer_call,
    approve_call,
    deny_call,
    edit_call,
)
from agents.actions.settle_call import settle_call
from agents.choices import Outcome
from agents.models import ToolCall
from heartbit_site.base import orm
from heartbit_site.base.login import at_terminal, login
from heartbit_site.cli.choices import (
    Answer,
    Approve,
    Choice,
    Deny,
    Edit,
    Settle,
    done,
    value_of,
)
from heartbit_site.cli.waiting import closed

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor
    from heartbit_site.cli.question import WaitingCall


def this_person(via: Literal["terminal", "inline"]) -> Decider:
    """Whoever runs this process."""
    return Decider(name=login(), via=via)


def actor() -> Actor:
    """The same, as the audit and the runs that they start name them: no account."""
    return at_terminal()


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
        InvalidEditError: The arguments, or the answer, do not fit; nothing was decided.
        NoLongerOpenError: Somebody was quicker, or the run has ended.
    """
    row = ToolCall.objects.select_related("run__workspace", "run__version__agent").get(pk=call.id)
    match choice:
        case Approve(scope, until):
            always = Always(scope, until) if scope is not None else None
            approve_call(row, digest=call.digest, by=by, always=always)
        case Edit(arguments):
            edit_call(row, digest=call.digest, by=by, arguments=arguments)
        case Answer():
            answer_call(row, digest=call.digest, by=by, answer=value_of(call, choice))
        case Deny(reason):
            deny_call(row, digest=call.digest, by=by, reason=reason)
        case Settle(outcome, result):
            settle_call(row, Outcome(outcome), by=by, result=result)
    return done(call, choice)
