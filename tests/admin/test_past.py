"""The admin's pages of an agent's past: versions beside each other, and rollbacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from agents.models import Agent, AgentVersion
from heartbit_site.operations.turn_views import describe_turn
from tests.admin import rows
from tests.admin.forms import filled
from tests.installed import uninstall
from tests.versions.conftest import keeper
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace


__all__ = ["keeper"]

pytestmark = pytest.mark.django_db


def test_a_tool_that_has_changed_since_is_shown_as_it_was_and_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, child = rows.tree(workspace)
    was = registry["http_get"]
    changed = replace(was, description="Something else.", parameters={"type": "object"})
    monkeypatch.setitem(registry, "http_get", changed)
    request = describe_turn(child, 1).model_dump()["request"]
    [shown] = [tool for tool in request["tools"] if tool["name"] == "http_get"]
    assert shown == {
        "name": "http_get",
        "description": was.description,
        "parameters": dict(was.parameters),
    }
    assert request["changed_tools"] == ["http_get"]


def test_versions_are_compared_and_one_is_brought_back(
    browser: Client, guest: Client, keeper: Agent
) -> None:
    first = AgentVersion.objects.get(agent=keeper, number=1)
    compare = reverse("admin:agents_agentversion_compare", args=[first.pk])
    form = reverse("admin:agents_agent_change", args=[keeper.pk])
    listed = browser.get(form).content.decode()
    assert compare in listed
    text = browser.get(compare).content.decode()
    for said in ("-Three.", "+Two.", "limits.max_turns", "tool calculate", "Roll back to v1"):
        assert said in text, said
    assert browser.get(f"{compare}?with=2").context["other"].number == 2
    assert browser.get(f"{compare}?with=99").status_code == 404
    assert guest.get(compare).status_code == 404
    assert guest.post(compare).status_code == 404
    done = browser.post(compare, follow=True)
    assert "Rolled back: runs from now on use v1." in done.content.decode()
    shown = filled(browser.get(form))
    assert shown["system_prompt"] == "One.\nTwo.\n"
    saved = browser.post(form, shown, follow=True).content.decode()
    assert "Nothing that its runs see has changed: v1." in saved, "the form shows the truth"
    assert LogEntry.objects.filter(change_message__startswith="Rolled back from v3 to v1").exists()
    history = browser.get(reverse("admin:agents_agent_history", args=[keeper.pk]))
    assert "Rolled back from v3 to v1 by root-of-tests." in history.content.decode()


def test_a_refused_rollback_says_why_on_the_page(
    browser: Client, keeper: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    uninstall(monkeypatch, "calculate")
    first = AgentVersion.objects.get(agent=keeper, number=1)
    compare = reverse("admin:agents_agentversion_compare", args=[first.pk])
    page = browser.post(compare).content.decode()
    assert "calculate is no longer installed" in page
    browser.post(compare, {"anyway": "on"})
    keeper.refresh_from_db()
    assert keeper.current_version is not None
    assert keeper.current_version.number == 4
