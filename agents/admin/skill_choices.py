"""Skills that the form of an agent offers."""

from __future__ import annotations

from django.db.models import F, Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import Skill
from agents.reads.skills import skills_in
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.base.visible_text import visible


def skill_choices(request: HttpRequest, workspace_id: int | None) -> list[tuple[str, str]]:
    """Return the skills that an agent can be given, with their descriptions.

    Args:
        request: Of the person who edits the agent.
        workspace_id: The agent's workspace; None: it is new, and may belong to any of theirs.
    """
    if workspace_id is not None:
        rows = skills_in(workspace_id)
    else:
        own = permissions_for(request).rows(Skill.objects.all(), "workspace", "agents:read")
        rows = Skill.objects.filter(Q(workspace=None) | Q(pk__in=own.values("pk")))
        rows = rows.filter(current_version__isnull=False)
    # Of a skill that replaces a shipped one, the last is the workspace's.
    order = ("name", F("workspace_id").asc(nulls_first=True))
    described = rows.order_by(*order).values_list("name", "current_version__snapshot__description")
    return [(name, label_of(name, visible(text))) for name, text in dict(described).items()]


def label_of(name: str, text: str) -> SafeString:
    """Return a choice's label: the name, and below it a text."""
    return format_html(
        '<span class="hb-strong">{}</span><br><span class="hb-quiet">{}</span>', name, text
    )
