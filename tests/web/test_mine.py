"""Who started what, in a browser: the list's "Mine", the run's facts, and the thread."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.actions.run_request import start_conversation
from agents.models import Agent
from heartbit_site.base.audit import Actor
from tests.starts import post_message, start_run
from tests.web import labels
from tests.web.people import member

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

KEY = Actor("API key nightly", "api")


@pytest.fixture
def ada(workspace: Workspace) -> User:
    return member(workspace)


@pytest.fixture
def ben(workspace: Workspace) -> User:
    return member(workspace)


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker takes the workspace's runs."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")


def named(user: User) -> Actor:
    return Actor(user.get_username(), "web", user.pk)


def started(workspace: Workspace, by: Actor) -> UUID:
    return start_run(workspace, f"Write for {by.via}.", agent="writer", by=by)


def test_given_runs_of_several_when_mine_is_ticked_then_ones_own_are_left_also_after_a_reload(
    visitors: Visitors, workspace: Workspace, ada: User, ben: User
) -> None:
    for by in (named(ada), named(ben), KEY):
        started(workspace, by)
    visitor = visitors(user=ada)
    page = visitor.page
    names = page.locator("table.runs .by")
    visitor.go("runs/")
    expect(names).to_have_text([" · API key nightly", f" · {ben.username}", " · You"])
    page.get_by_label("Mine").check()
    expect(names).to_have_text([" · You"])
    expect(page).to_have_url(re.compile(r"\?mine=true$"))
    page.reload()
    expect(names).to_have_text([" · You"])
    page.get_by_role("combobox", name="Status").select_option("failed")
    expect(page.get_by_text(labels.NO_RUNS)).to_be_visible()
    page.get_by_role("link", name=labels.CLEAR_FILTERS).click()
    expect(names).to_have_count(3)
    expect(page.get_by_label("Mine")).not_to_be_checked()


def test_given_a_run_of_somebody_then_its_facts_name_them_to_others(
    visitors: Visitors, workspace: Workspace, ada: User, ben: User
) -> None:
    run = started(workspace, named(ada))
    for reader, name in ((ada, "You"), (ben, ada.username)):
        visitor = visitors(user=reader, width=390)
        visitor.go(f"runs/{run}/")
        fact = visitor.page.locator("dl.facts dt", has_text="Started by").locator("+ dd")
        expect(fact).to_have_text(name)


def test_given_a_thread_of_two_then_each_reads_who_said_what(
    visitors: Visitors, workspace: Workspace, ada: User, ben: User
) -> None:
    thread = start_conversation(workspace, agent="writer")
    for by in (named(ada), named(ben)):
        post_message(thread, "Hello.", by=by)
    for reader, names in ((ada, ["You", ben.username]), (ben, [ada.username, "You"])):
        visitor = visitors(user=reader)
        visitor.go(f"chat/writer/{thread.pk}/")
        expect(visitor.page.locator(".message > div > .said .who")).to_have_text(names)
