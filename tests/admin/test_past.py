"""The admin's pages of the past: any turn, forks, versions beside each other, rollbacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from agents.admin import queries
from agents.models import Agent, AgentVersion, Run
from agents.turns import describe_turn
from tests.admin import rows
from tests.admin.forms import filled
from tests.installed import uninstall
from tests.versions.conftest import keeper
from tools.registry import registry

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

__all__ = ["keeper"]

pytestmark = pytest.mark.django_db


def turn_page(run: Run, number: int) -> str:
    return reverse("admin:agents_run_turn", args=[run.pk, number])


def fork_page(run: Run, number: int) -> str:
    return reverse("admin:agents_run_fork", args=[run.pk, number])


def test_a_turns_page_shows_what_was_sent_and_answered_and_runs_nothing_of_it(
    browser: Client, workspace: Workspace
) -> None:
    root, child = rows.tree(workspace)
    text = browser.get(turn_page(child, 2)).content.decode()
    for said in ("turn 2 of 2", "Result of http_request", "The model was sent", "Look it up."):
        assert said in text, said
    assert rows.HOSTILE not in text
    assert "&lt;script&gt;" in text
    assert fork_page(child, 2) in text
    first = browser.get(turn_page(root, 1)).content.decode()
    assert reverse("admin:agents_run_change", args=[child.pk]) in first, "where the work was done"
    run = browser.get(reverse("admin:agents_run_change", args=[root.pk])).content.decode()
    assert turn_page(root, 1) in run
    assert fork_page(root, 0) in run
    assert browser.get(turn_page(root, 9)).status_code == 404


def test_a_tool_that_has_changed_since_is_shown_as_it_was_and_named(
    browser: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, child = rows.tree(workspace)
    was = registry["http_get"]
    changed = replace(was, description="Something else.", parameters={"type": "object"})
    monkeypatch.setitem(registry._specs, "http_get", changed)
    request = describe_turn(child, 1)["request"]
    [shown] = [tool for tool in request["tools"] if tool["name"] == "http_get"]
    assert shown == {
        "name": "http_get",
        "description": was.description,
        "parameters": dict(was.parameters),
    }
    assert request["changed_tools"] == ["http_get"]
    page = browser.get(turn_page(child, 1)).content.decode()
    assert "Defined otherwise or gone since: http_get." in page


def test_a_fork_from_the_page_is_shown_with_its_source(
    browser: Client, workspace: Workspace
) -> None:
    root, _ = rows.tree(workspace)
    shown = browser.get(fork_page(root, 1))
    assert "nothing of that is done or paid again" in shown.content.decode()
    made = browser.post(fork_page(root, 1), {"message": "Be nice.", "instead": "arguments"})
    assert made.status_code == 302
    fork = Run.objects.get(forked_from=root)
    page = browser.get(made["Location"]).content.decode()
    assert reverse("admin:agents_run_change", args=[root.pk]) in page
    assert "Forked from another run after turn 1 by root-of-tests" in page
    assert "Be nice." in page
    source = browser.get(reverse("admin:agents_run_change", args=[root.pk])).content.decode()
    assert str(fork.pk) in source
    assert "after turn 1" in source


def test_a_fork_that_makes_no_sense_says_why_and_keeps_what_was_written(
    browser: Client, workspace: Workspace
) -> None:
    root, child = rows.tree(workspace)
    sent = {"task": "Another one", "call": "1.0", "instead": "arguments", "text": "{"}
    page = browser.post(fork_page(child, 1), sent).content.decode()
    assert 'role="alert"' in page
    assert "Another one" in page
    assert not Run.objects.filter(forked_from=child).exists()
    page = browser.post(fork_page(root, 2), {}).content.decode()
    assert "Turn 2 ended the run" in page
    page = browser.post(fork_page(root, 1), {"version": "99"}).content.decode()
    assert "not one of the available choices" in page


def test_who_may_not_start_runs_may_not_fork(guest: Client, workspace: Workspace) -> None:
    root, _ = rows.tree(workspace)
    assert guest.get(turn_page(root, 1)).status_code == 403
    assert guest.post(fork_page(root, 1), {"message": "x"}).status_code == 403
    assert not Run.objects.filter(forked_from=root).exists()


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
    assert "calculate is not installed" in page
    browser.post(compare, {"anyway": "on"})
    keeper.refresh_from_db()
    assert keeper.current_version is not None
    assert keeper.current_version.number == 4


def test_a_runs_page_lists_its_forks(browser: Client, workspace: Workspace) -> None:
    root, _ = rows.tree(workspace)
    for _ in range(3):
        browser.post(fork_page(root, 1), {"message": "x"})
    page = browser.get(reverse("admin:agents_run_change", args=[root.pk])).context["page"]
    assert [fork.turn for fork in page.forks] == [1, 1, 1]
    assert queries.journal(page.forks[0].pk, after=0)[0].type == "run.created"
