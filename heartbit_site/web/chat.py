"""Talking with an agent: the agents, the conversations with one of them, and one conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from heartbit_site.operations.messages_of_conversations import (
    ConversationNotFoundError,
    find_conversation,
)
from heartbit_site.web.page import page, show

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse

    from heartbit_site.base.access import Access


@page("runs:read")
def start(request: HttpRequest, access: Access, agent: str = "") -> HttpResponse:
    """Show the agents to talk to, and the conversations with the chosen one."""
    return show(request, access, "web/chat.html", {"agent": agent}, here="chat")


@page("runs:read")
def conversation(
    request: HttpRequest, access: Access, agent: str, conversation: UUID
) -> HttpResponse:
    """Show one conversation."""
    try:
        found = find_conversation(access.workspace, str(conversation))
    except ConversationNotFoundError as error:
        raise Http404(str(error)) from error
    if found.agent != agent:
        raise Http404(f"The conversation {conversation} is one with {found.agent}.")
    context = {"agent": agent, "conversation": found}
    return show(request, access, "web/chat.html", context, here="chat")
