"""Every work page, and a list and a form of the admin: nothing that axe complains of.

One window loads each page once, at one width and in one theme. Three widths, both themes, and the
rest of the admin are in ``make audits``: ``test_pages`` and ``test_admin_pages_*``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from agents.models import Agent
from tests.web.looks import heard_now
from tests.web.test_pages import visitor, world

if TYPE_CHECKING:
    from tests.web.test_pages import World
    from tests.web.visitor import Visitor

__all__ = ["visitor", "world"]


def test_given_each_page_then_axe_finds_nothing(visitor: Visitor, world: World) -> None:
    agent = Agent.objects.get(workspace=world.workspace, name="writer", origin="")
    admins = {
        "admin list": (reverse("admin:agents_agent_changelist"), "writer"),
        "admin form": (reverse("admin:agents_agent_change", args=[agent.pk]), "System prompt"),
        "settings": (reverse("admin:index"), "Memberships"),
    }
    found = {}
    for name, (path, text) in {**world.pages, **admins}.items():
        visitor.go(path)
        visitor.page.locator("#main").get_by_text(text).first.wait_for()
        if problems := [*heard_now(visitor.page)]:
            found[name] = problems
    assert found == {}
    assert visitor.problems() == []
