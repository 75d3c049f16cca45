"""Pages whose scripts fetch their content from the API, and the page of a cited passage."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse

from agents.models import Run
from agents.querysets import find_run
from agents.reads.drawings import drawn
from agents.reads.hidden_memories import split_known
from agents.workflows.drawing.outline import DrawingTooLargeError
from heartbit_site.base.access import Access
from heartbit_site.base.visible_text import visible
from heartbit_site.operations.knowledge import show_passage
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.web.page import page, show
from memory.errors import PassageNotFoundError
from memory.history import visible_memories


@page("runs:read")
def approvals(request: HttpRequest, access: Access) -> HttpResponse:
    """Show what waits for a person in the workspace."""
    return show(request, access, "web/approvals.html", here="approvals")


@page("runs:read")
def chat(request: HttpRequest, access: Access, agent: str = "") -> HttpResponse:
    """Show the agents, and the conversations with the one that was chosen."""
    return show(request, access, "web/chat.html", {"agent": agent}, here="chat")


@page("runs:read")
def conversation(
    request: HttpRequest, access: Access, agent: str, conversation: UUID
) -> HttpResponse:
    """Show one conversation."""
    found = find_conversation(access.workspace, str(conversation))
    if found.agent != agent:
        raise Http404(f"The conversation {conversation} is with {found.agent}.")
    context = {"agent": agent, "conversation": found}
    return show(request, access, "web/chat.html", context, here="chat")


@page("fleet:manage")
def fleet(request: HttpRequest, access: Access) -> HttpResponse:
    """Show workers, queues, and pauses, to the operators of the installation."""
    return show(request, access, "web/fleet.html", here="fleet")


@page("runs:read")
def run(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Show one run as it works."""
    found = find_run(access.workspace, run)
    known, hidden = split_known(access, found)
    learned = found.learned_memories.filter(item__in=visible_memories(access))
    context = {
        "run": found,
        "known": known,
        "known_hidden": hidden,
        "learned": learned.select_related("item"),
        "follow_up": Run.objects.filter(extraction__source=found).first(),
        "source": Run.objects.filter(follow_up=found.pk).first(),
    }
    return show(request, access, "web/run.html", context, here="runs")


@page("runs:read")
def drawing(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Draw the graph of a workflow's run, as SVG; empty for a run of another kind."""
    try:
        svg = drawn(find_run(access.workspace, run).version.snapshot)
    except DrawingTooLargeError as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(svg, content_type="image/svg+xml; charset=utf-8")


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
