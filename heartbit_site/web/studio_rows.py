"""Rows, panels and comparisons of the studio, as its templates draw them."""

from __future__ import annotations

from typing import Any

from agents.admin.json_fields import argument_rows
from agents.definitions.server_grants import ALL, servers_of
from agents.definitions.spec import AgentSpec
from agents.models import Agent
from agents.reads.agents import spec_of
from agents.reads.skills import skills_in
from heartbit_site.base.access import Access
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.toolspec import Origin, ToolSpec
from heartbit_site.web.agent_form import SEARCH, StudioForm
from memory.models import KnowledgeBase

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


def sections_of(form: StudioForm, access: Access, row: Agent) -> list[tuple[str, str, Any, str]]:
    """Return skills, sub-agents and knowledge: kind, title, rows with problems, and a hint."""
    parts = (
        ("skills", "Skills", _skill_rows(form, access)),
        ("team", "Sub-agents", _team_rows(form, row)),
        ("bases", "Knowledge bases", _base_rows(form, access)),
    )
    return [
        (kind, title, {"rows": rows, "problems": form.problems.get(kind, ())}, _ABOUT[kind])
        for kind, title, rows in parts
    ]


def tool_rows(form: StudioForm) -> list[tuple[str, list[dict[str, Any]], int]]:
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


def panel_of(form: StudioForm, name: str) -> dict[str, Any]:
    """Return the panel of a tool: what it is, and the fields of how it is given."""
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


def differences(theirs: Agent, mine: AgentSpec) -> list[tuple[str, str, str]]:
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


def unpinned(row: Agent, draft: Agent) -> list[tuple[str, str, str]]:
    """Return the settings that differ and that no version pins: name, published, draft."""
    pairs = ((name, getattr(row, name), getattr(draft, name)) for name in _UNPINNED)
    return [(name, _text(one), _text(other)) for name, one, other in pairs if one != other]
