"""The studio of an agent: its draft on the left, a test of it on the right, and its publication."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from agents.actions.draft_agent import discard_draft, publish_draft, save_draft, start_test
from agents.actions.save_agent import VersionConflictError
from agents.admin.version import shown_diff
from agents.definitions.kinds import AGENT
from agents.definitions.snapshot_diff import compare
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent
from agents.models.draft import DRAFT
from agents.reads.agents import find_editable
from agents.reads.drafts import draft_of, source_of, stamp_of
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.rights import require
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.web.agent_form import StudioForm
from heartbit_site.web.page import asked_action, page, show
from heartbit_site.web.studio_rows import differences, panel_of, sections_of, tool_rows, unpinned
from tools.definitions.catalogue import catalogue


@require_http_methods(["GET", "POST"])
@page("agents:read")
def studio(
    request: HttpRequest, access: Access, agent: str, test: UUID | None = None
) -> HttpResponse:
    """Show an agent's draft, with a test of it; a POST saves, tests or discards the draft."""
    row = _find(access, agent)
    if test is not None:
        talk = find_conversation(access, str(test))
        if (talk.agent, talk.origin) != (row.name, DRAFT):
            raise Http404(f"The conversation {test} is no test of {row.name}.")
    known = catalogue(access.workspace.pk)
    if request.method == "POST":
        return _posted(request, access, row, StudioForm(source_of(row), known, request.POST))
    form = StudioForm(source_of(row), known)
    if form.offers(tool := request.GET.get("tool", "")):
        form.grants[tool] = form.panel(tool)
    return _shown(request, access, row, form)


def _posted(request: HttpRequest, access: Access, row: Agent, form: StudioForm) -> HttpResponse:
    """Do what the pressed button says; refused settings are shown again as they were sent."""
    theirs: list[tuple[str, str, str]] = []
    do = asked_action(request, "save", "review", "test", "discard")
    try:
        require(actor_of(access), "agents:write", workspace_id=access.workspace.pk)
        if do == "discard":
            discard_draft(access.workspace, row.name, by=actor_of(access))
            messages.success(request, "The draft is discarded: this is what is published.")
            return redirect("web:agent", access.workspace.slug, row.name)
        if form.is_valid():
            seen = request.POST.get("seen", "")
            save_draft(access.workspace, row.name, form.spec(), seen=seen, by=actor_of(access))
            return _saved(request, access, row)
        problem = form.first_problem()
    except InvalidSettingError as error:
        form.refuse(error)
        problem = form.first_problem()
    except VersionConflictError as error:
        theirs = differences(source_of(row), form.spec())
        problem = f"{error} Nothing of yours is lost: it is in the form, and theirs is below."
    except HeartbitError as error:
        problem = str(error)
    if do == "test":
        return JsonResponse({"problem": problem}, status=409)
    return _shown(request, access, row, form, status=409, problem=problem, theirs=theirs)


def _find(access: Access, name: str) -> Agent:
    row = find_editable(access.workspace, name)
    if row.kind != AGENT.name:
        raise Http404(f"{name} is a {row.kind}, not an agent.")
    return row


def _saved(request: HttpRequest, access: Access, row: Agent) -> HttpResponse:
    """Return to where the draft is seen; for a test, return its conversation."""
    do, slug = request.POST.get("do"), access.workspace.slug
    if do == "test":
        sent = request.POST.get("conversation", "")
        talk = start_test(access.workspace, row.name, conversation=sent, by=actor_of(access))
        seen = stamp_of(find_editable(access.workspace, row.name))
        has_draft = draft_of(row) is not None
        return JsonResponse({"conversation": str(talk.pk), "seen": seen, "has_draft": has_draft})
    if do == "review":
        return redirect("web:agent-publish", slug, row.name)
    if draft_of(row) is None:
        messages.info(request, "Nothing has changed: this is what is published.")
    else:
        messages.success(request, "The draft is saved. Runs use it once it is published.")
    response = redirect(request.path)
    if panels := request.POST.getlist("panel"):
        response["Location"] += f"?tool={panels[-1]}"
    return response


def _shown(
    request: HttpRequest,
    access: Access,
    row: Agent,
    form: StudioForm,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    draft = draft_of(row)
    published = row.current_version
    panels = [panel_of(form, name) for name in form.grants]
    context = {
        "agent": row,
        "draft": draft,
        "published": published,
        "is_behind": draft is not None and published is not None and draft.base != published.number,
        "seen": stamp_of(row),
        "form": form,
        "writes": access.allows("agents:write"),
        "sources": tool_rows(form),
        "sections": sections_of(form, access, row),
        "panels": panels,
        "open": next(
            (panel for panel in panels if panel["has_problem"]), panels[-1] if panels else None
        ),
        **more,
    }
    return show(request, access, "web/studio.html", context, here="agents", status=status)


@require_http_methods(["GET", "POST"])
@page("agents:write")
def publish(request: HttpRequest, access: Access, agent: str) -> HttpResponse:
    """Show what the draft changes, and ask for a note; a POST publishes the draft."""
    row = _find(access, agent)
    problem, status = "", 200
    note, seen = request.POST.get("note", ""), request.POST.get("seen", "")
    if request.method == "POST":
        try:
            if len(note) > 500:
                raise HeartbitError(f"The note has {len(note)} characters: at most 500 are kept.")
            made = publish_draft(
                access.workspace, row.name, note=note, seen=seen, by=actor_of(access)
            )
        except HeartbitError as error:
            problem, status = str(error), 409
            row = _find(access, agent)
        else:
            version = made.made.version.number if made.made is not None else ""
            messages.success(request, f"v{version} is published: runs from now on use it.")
            return redirect("web:agent", access.workspace.slug, row.name)
    draft, published = draft_of(row), row.current_version
    pinned = draft.row.current_version if draft is not None else None
    before = published.snapshot if published is not None else {"tools": [], "team": []}
    diff = shown_diff(compare(before, pinned.snapshot)) if pinned is not None else None
    if draft is not None and diff is not None:
        diff["rows"] = [*unpinned(row, draft.row), *diff["rows"]]
    context = {
        "agent": row,
        "draft": draft,
        "published": published,
        "is_behind": draft is not None and published is not None and draft.base != published.number,
        "diff": diff,
        "next": _next(row, pinned.hash if pinned is not None else ""),
        "note": note,
        "seen": stamp_of(row),
        "problem": problem,
    }
    return show(request, access, "web/agent_publish.html", context, here="agents", status=status)


def _next(row: Agent, digest: str) -> int:
    """Return the number of the version that publishing makes current; equal content has its own."""
    numbers = row.versions.values_list("hash", "number")
    known = dict(numbers)
    return known.get(digest, max(known.values(), default=0) + 1)
