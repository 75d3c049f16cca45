"""A person's choice about a call, carried out."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agents.actions.decide_call import Always, Decider, approve_call, deny_call, edit_call
from agents.models import ToolCall
from heartbit_site.cli.escape import visible

if TYPE_CHECKING:
    from heartbit_site.cli.question import WaitingCall


@dataclass(frozen=True, slots=True)
class Approve:
    """Let it run as it was shown; `always`: and such calls from now on."""

    always: Always | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Let it run with other arguments, a JSON object."""

    arguments: str


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not let it run; the model reads the reason."""

    reason: str


Choice = Approve | Edit | Deny


def this_person(via: Literal["terminal", "inline"]) -> Decider:
    """Whoever runs this process."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # an id without a name, as in some containers
        name = "somebody"
    return Decider(name=name, via=via)


def decide(call: WaitingCall, choice: Choice, by: Decider) -> str:
    """Decide the call as it was shown and say, in one sentence, what was done.

    Raises:
        InvalidEditError: The arguments do not fit the tool; nothing was decided.
        NoLongerOpenError: Somebody was quicker, or the run has ended.
    """
    row = ToolCall.objects.select_related("run__workspace", "run__version__agent").get(pk=call.id)
    tool, agent = visible(call.tool), visible(call.agent)
    match choice:
        case Approve(always):
            approve_call(row, digest=call.digest, by=by, always=always)
            return f"Approved {tool} of {agent}{_scope(always)}."
        case Edit(arguments):
            edit_call(row, digest=call.digest, by=by, arguments=arguments)
            return f"Approved {tool} of {agent} with other arguments."
        case Deny(reason):
            deny_call(row, digest=call.digest, by=by, reason=reason)
            return f"Denied {tool} of {agent}."


def _scope(always: Always | None) -> str:
    if always is None:
        return ""
    until = f" until {always.until:%Y-%m-%d %H:%M}" if always.until else ""
    return f", and always {'in this run' if always.scope == 'run' else 'for this agent'}{until}"
