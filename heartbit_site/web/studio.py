"""The studio of an agent: its draft on the left, a test of it on the right, and its publication."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from agents.actions.draft_agent import discard_draft, publish_draft, save_draft, start_test
from agents.actions.save_agent import VersionConflictError
from agents.admin.json_fields import argument_rows
from agents.admin.version import shown_diff
from agents.definitions.kinds import AGENT
from agents.definitions.server_grants import ALL, servers_of
from agents.definitions.snapshot_diff import compare
from agents.definitions.spec import AgentSpec
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent
from agents.models.draft import DRAFT
from agents.reads.agents import find_editable, spec_of
from agents.reads.drafts import draft_of, source_of, stamp_of
from agents.reads.skills import skills_in
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.rights import require
from heartbit_site.base.toolspec import Origin, ToolSpec
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.web.agent_form import SEARCH, StudioForm
from heartbit_site.web.page import page, show
from memory.models import KnowledgeBase
from tools.definitions.catalogue import catalogue

#: Settings that no version pins, so that no comparison of versions has them.
_UNPINNED = ("description", "queue", "max_runs_per_minute")
_TITLES = {"builtin": "Built in", "scheduling": "Schedules"}
#: Settings of a tool in the order of its panel, which folds the second ones.
_HOW = ("approval", "approval_when", "timeout_seconds", "defaults", "credentials")
_WHO_APPROVES = (
    *("approval_timeout_seconds", "required_approvals", "approver_group"),
    *("escalate_after_minutes", "escalation_group", "requires"),
)
_ABOUT = {
    "skills": AgentSpec.model_fields["skills"].description or "",
    "team": AgentSpec.model_fields["team"].description or "",
    "bases": "Those that search_knowledge searches. None is chosen: all of the workspace.",
}


@require_http_methods(["GET", "POST"])
@page("agents:read")
def studio(
    request: HttpRequest, access: Access, agent: str, conversation: UUID | None = None
) -> HttpResponse:
    """Show an agent's draft, with a test of it; a POST saves, tests or discards the draft."""
    row = _find(access, agent)
    if conversation is not None:
        talk = find_conversation(access.workspace, str(conversation))
        if (talk.agent, talk.origin) != (row.name, DRAFT):
            raise Http404(f"The conversation {conversation} is no test of {row.name}.")
    known = catalogue(access.workspace.pk)
    if request.method != "POST":
        form = StudioForm(source_of(row), known)
        if form.offers(tool := request.GET.get("tool", "")):
            form.grants[tool] = form.panel(tool)
        return _shown(request, access, row, form)
    form = StudioForm(source_of(row), known, request.POST)
    tests = request.POST.get("do") == "test"
    theirs: list[tuple[str, str, str]] = []
    try:
        require(actor_of(access), "agents:write", workspace_id=access.workspace.pk)
        if request.POST.get("do") == "discard":
            discard_draft(access.workspace, row.name, by=actor_of(access))
            messages.success(request, "The draft is discarded: this is what is published.")
            return redirect("web:agent", access.workspace.slug, row.name)
        if form.is_valid():
            seen = request.POST.get("seen", "")
            save_draft(access.workspace, row.name, form.spec(), seen=seen, by=actor_of(access))
            return _saved(request, access, row, conversation)
        problem = form.first_problem()
    except InvalidSettingError as error:
        form.refuse(error)
        problem = form.first_problem()
    except VersionConflictError as error:
        theirs = _differences(source_of(row), form.spec())
        problem = f"{error} Nothing of yours is lost: it is in the form, and theirs is below."
    except HeartbitError as error:
        problem = str(error)
    if tests:
        return JsonResponse({"problem": problem}, status=409)
    more = {"problem": problem, "theirs": theirs}
    return _shown(request, access, row, form, status=409, **more)


def _find(access: Access, name: str) -> Agent:
    row = find_editable(access.workspace, name)
    if row.kind != AGENT.name:
        raise Http404(f"{name} is a {row.kind}, not an agent.")
    return row


def _saved(
    request: HttpRequest, access: Access, row: Agent, conversation: UUID | None
) -> HttpResponse:
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
    request: HttpRequest, access: Access, row: Agent, form: StudioForm, *, status: int = 200, **more: Any
) -> HttpResponse:
    draft = draft_of(row)
    published = row.current_version
    panels = [_panel(form, name) for name in form.grants]
    context = {
        "agent": row,
        "draft": draft,
        "published": published,
        "is_behind": draft is not None and published is not None and draft.base != published.number,
        "seen": stamp_of(row),
        "form": form,
        "writes": access.allows("agents:write"),
        "sources": _tool_rows(form),
        "sections": _sections(form, access, row),
        "panels": panels,
        "open": next((panel for panel in panels if panel["has_problem"]), panels[-1] if panels else None),
        **more,
    }
    return show(request, access, "web/studio.html", context, here="agents", status=status)


def _sections(form: StudioForm, access: Access, row: Agent) -> list[tuple[str, str, Any, str]]:
    """Return skills, sub-agents and knowledge bases: kind, title, rows with problems, and a hint."""
    parts = (
        ("skills", "Skills", _skill_rows(form, access)),
        ("team", "Sub-agents", _team_rows(form, row)),
        ("bases", "Knowledge bases", _base_rows(form, access)),
    )
    return [
        (kind, title, {"rows": rows, "problems": form.problems.get(kind, ())}, _ABOUT[kind])
        for kind, title, rows in parts
    ]


def _tool_rows(form: StudioForm) -> list[tuple[str, list[dict[str, Any]], int]]:
    """Return sources with their tools as rows, and how many are on; those with some first."""
    found: dict[str, list[dict[str, Any]]] = {}
    servers = servers_of(form.known)
    for name in sorted({*form.stored, *servers, *form.known}):
        spec = form.known.get(name)
        if spec is not None:
            about = spec.description.partition("\n")[0]
        else:
            about = f"All {len(servers[name])} tools" if name in servers else "Not installed"
        source = _source(spec) if spec is not None else "Removed"
        source = f"Server {name.removesuffix(ALL)}" if name in servers else source
        found.setdefault(source, []).append(_row(form, "tools", name, about))
    counted = [(name, rows, sum(row["is_on"] for row in rows)) for name, rows in found.items()]
    return sorted(counted, key=lambda one: (not one[2], one[0]))


def _source(spec: ToolSpec) -> str:
    if spec.origin is Origin.MCP:
        return f"Server {spec.source}"
    parts = [part for part in spec.source.split(".") if part != "agent_tools"]
    title = parts[1] if parts[0] == "tools" and parts[1:] else parts[-1]
    return _TITLES.get(title) or title.replace("_", " ").capitalize() or "Other"


def _row(form: StudioForm, kind: str, name: str, about: str) -> dict[str, Any]:
    return {"name": name, "about": about, "is_on": form.is_on(kind, name)}


def _skill_rows(form: StudioForm, access: Access) -> list[dict[str, Any]]:
    columns = ("name", "current_version__snapshot__description")
    known: dict[str, str] = dict(skills_in(access.workspace.pk).values_list(*columns))
    names = sorted({*known, *form.table["skills"]})
    return [_row(form, "skills", name, known.get(name, "Removed.")) for name in names]


def _team_rows(form: StudioForm, row: Agent) -> list[dict[str, Any]]:
    others = Agent.objects.filter(workspace=row.workspace_id, origin="").exclude(pk=row.pk)
    columns = others.order_by("name").values_list("name", "description")
    return [_row(form, "team", name, about) for name, about in columns]


def _base_rows(form: StudioForm, access: Access) -> list[dict[str, Any]]:
    rows = KnowledgeBase.objects.filter(workspace=access.workspace)
    known = dict(rows.values_list("name", "description"))
    names = sorted({*known, *form.stored.get(SEARCH, {}).get("knowledge_bases", ())})
    return [_row(form, "bases", name, known.get(name, "Removed.")) for name in names]


def _panel(form: StudioForm, name: str) -> dict[str, Any]:
    spec, grant = form.known.get(name), form.grants[name]
    more = [field for field in grant if field.name not in (*_HOW, *_WHO_APPROVES)]
    rest = [grant[name] for name in _WHO_APPROVES]
    return {
        "fields": [grant[name] for name in _HOW if name in grant.fields] + more,
        "rest": rest,
        "is_open": any(field.value() or field.errors for field in rest),
        "name": name,
        "form": grant,
        "has_problem": bool(form.data is not None and grant.errors),
        "description": spec.description if spec is not None else "",
        "effect": describe_effect(spec.effect.value) if spec is not None else "",
        "seconds": spec.timeout_seconds if spec is not None else None,
        "arguments": argument_rows(dict(spec.parameters)) if spec is not None else [],
    }


def _differences(theirs: Agent, mine: AgentSpec) -> list[tuple[str, str, str]]:
    """Return the settings in which two texts of a draft differ: name, theirs, mine."""
    saved = spec_of(theirs).model_dump(mode="json")
    own = mine.model_dump(mode="json")
    names = [name for name in own if own[name] != saved.get(name)]
    return [
        (name.replace("_", " ").capitalize(), _text(saved.get(name)), _text(own[name]))
        for name in names
    ]


def _text(value: Any) -> str:
    if isinstance(value, list):
        names = (one["name"] if isinstance(one, dict) else str(one) for one in value)
        return ", ".join(names) or "-"
    return "-" if value in ("", None, {}) else str(value)


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
        diff["rows"] = [*_unpinned(row, draft.row), *diff["rows"]]
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


def _unpinned(row: Agent, draft: Agent) -> list[tuple[str, str, str]]:
    pairs = ((name, getattr(row, name), getattr(draft, name)) for name in _UNPINNED)
    return [(name, _text(one), _text(other)) for name, one, other in pairs if one != other]
