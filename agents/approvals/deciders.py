"""Refusals of people who are not asked about a call or a question, each with its remedy."""

from __future__ import annotations

from agents.models import ToolCall
from agents.querysets import is_asked


def members_only(group: str, verb: str, user_id: int | None) -> str:
    """Return the sentence that refuses a caller who is not in a group; None: one who is no person.

    Commands on the machine and the keys that they create act for no person.
    """
    remedy = "ask one of them, or have a superuser add you to the group"
    if user_id is None:
        remedy = "sign in as one of them, or use a key of one"
    return f"Only members of the group {group} may {verb}: {remedy}."


def unasked_reason(call: ToolCall, user_id: int | None, verb: str = "decide this call") -> str:
    """Return why a person may not decide a call, as far as groups say; empty: they may."""
    refused = ToolCall.objects.filter(~is_asked(user_id), pk=call.pk)
    shown = refused.values_list("approval_view", flat=True).first()  # escalated meanwhile, maybe
    if shown is None:
        return ""
    groups = filter(None, (shown.get("group"), shown.get("escalated_to")))
    return members_only(" or ".join(groups), verb, user_id)
