"""Pages whose scripts fetch their content from the API, and the page of a cited passage."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from agents.models.draft import DRAFT
from heartbit_site.base.access import Access
from heartbit_site.base.visible_text import visible
from heartbit_site.operations.knowledge import show_passage
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.web.page import page, show
from memory.errors import PassageNotFoundError


@page("runs:read")
def chat(request: HttpRequest, access: Access, agent: str = "") -> HttpResponse:
    """Show the agents, and the conversations with the one that was chosen."""
    return show(request, access, "web/chat.html", {"agent": agent}, here="chat")


@page("runs:read")
def conversation(
    request: HttpRequest, access: Access, agent: str, conversation: UUID
) -> HttpResponse:
    """Show one conversation."""
    found = find_conversation(access, str(conversation))
    if found.agent != agent:
        raise Http404(f"The conversation {conversation} is with {found.agent}.")
    if found.origin == DRAFT:
        return redirect("web:agent-test", access.workspace.slug, agent, conversation)
    context = {"agent": agent, "conversation": found}
    return show(request, access, "web/chat.html", context, here="chat")


@page("fleet:manage")
def fleet(request: HttpRequest, access: Access) -> HttpResponse:
    """Lead from the former address of the fleet to its tab of Health."""
    return redirect("web:health-fleet", access.workspace.slug, permanent=True)


@page("runs:read")
def usage(request: HttpRequest, access: Access) -> HttpResponse:
    """Lead from the former address of the usage to its tab of Health."""
    return redirect("web:health-usage", access.workspace.slug, permanent=True)


@page("runs:read")
def passage(request: HttpRequest, access: Access, passage: int) -> HttpResponse:
    """Show a passage; answer 404 if it was deleted with its content."""
    try:
        found = show_passage(access, str(passage))
    except PassageNotFoundError:
        return show(request, access, "web/passage_gone.html", status=404)
    parts = [("before", found.before), ("cited", found), ("after", found.after)]
    context = {
        "passage": found,
        "parts": [(name, part, visible(part.text)) for name, part in parts if part is not None],
    }
    return show(request, access, "web/passage.html", context)
