"""The places of the frame's navigation, by job, and which of them a page belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the navigation.

    Attributes:
        name: Its name, which a work page passes as ``here``.
        route: Name of its URL; the admin's begin with ``admin:``, others take the workspace.
        models: Models whose pages in the admin belong to it (``app_model``).
        needs: Scope of the members who see it; an entry of the admin also needs its door open.
    """

    name: str
    title: str
    icon: str
    route: str
    models: tuple[str, ...] = ()
    needs: str = "agents:read"

    @property
    def is_admins(self) -> bool:
        """True for a page of the admin."""
        return self.route.startswith("admin:")


_LIST = "admin:{}_changelist"


def _listed(name: str, title: str, icon: str, *models: str) -> Place:
    """Return a place that is the admin's list of the first of its models."""
    return Place(name, title, icon, _LIST.format(models[0]), models)


_HEARD = ("agents_toolcall", "agents_decision", "agents_grant")
_TALK = ("agents_conversation", "agents_message")

_WORK = (
    Place("runs", "Runs", "play_circle", "web:runs", ("agents_run",), "runs:read"),
    Place("inbox", "Inbox", "inbox", "web:approvals", _HEARD, "runs:read"),
    Place("chat", "Chat", "forum", "web:chat", _TALK, "runs:read"),
)
_BUILD = (
    _listed("agents", "Agents", "smart_toy", "agents_agent", "agents_agentversion"),
    _listed("workflows", "Workflows", "account_tree", "agents_workflow"),
    _listed("tools", "Tools", "construction", "tools_cataloguetool"),
    _listed("skills", "Skills", "school", "agents_skill"),
    _listed("knowledge", "Knowledge", "menu_book", "memory_knowledgebase", "memory_document"),
    _listed("servers", "MCP servers", "hub", "tools_mcpserver"),
)
_RUNNING = (
    _listed("schedules", "Schedules", "event_repeat", "scheduling_schedule", "scheduling_firing"),
    Place(
        "health",
        "Health",
        "monitor_heart",
        "web:fleet",
        ("agents_workerheartbeat",),
        "fleet:manage",
    ),
    Place("settings", "Settings", "settings", "admin:index"),
)
#: By heading; the last group has none.
GROUPS: Final = (("Work", _WORK), ("Build", _BUILD), ("", _RUNNING))


def place_of_model(app_model: str) -> str:
    """Return the place that a model's pages of the admin belong to."""
    for _, places in GROUPS:
        for place in places:
            if app_model in place.models:
                return place.name
    return "settings"
