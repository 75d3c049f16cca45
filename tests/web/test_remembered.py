"""Pages link a run, its extraction and what it left behind; persons' memories stay theirs."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, LearnedMemory, Run, WebhookEndpoint
from agents.runs.webhook_events import create_webhook_deliveries
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import Role
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.models import MemoryItem
from memory.place import MemoryPlace
from tests.admin.rows import Held, answer
from tests.mcp.sign_ins import browser
from tests.starts import start_run
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

TEXT = "Ann lives in Bonn."


@pytest.fixture(autouse=True)
def _hosts(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]


@pytest.fixture
def ann(workspace: Workspace) -> User:
    return member(workspace, Role.OPERATOR)


@pytest.fixture
def run(workspace: Workspace, ann: User) -> Iterator[Run]:
    """A run of a person that left a memory; no worker serves its queue."""
    agent = Agent.objects.create(
        workspace=workspace,
        name="keen",
        system_prompt="x",
        extract_memories=True,
        queue=f"idle-{secrets.token_hex(4)}",
    )
    publish_agent(agent)
    by = Actor(ann.username, "user", ann.pk)
    held = Held(start_run(workspace, "I live in Bonn.", agent="keen", by=by))
    held.record(answer(1, "Noted."))
    held.finish("Noted.")
    place = MemoryPlace(workspace.pk, Scope.PERSON, "keen", ann.pk)
    item = remember(place, TEXT, by=Author(SYSTEM, held.id))
    LearnedMemory.objects.create(run_id=held.id, item=item, turn=1, replaced=False)
    yield Run.objects.get(pk=held.id)
    Run.objects.filter(extraction__source=held.id).delete()


def test_the_run_s_page_has_what_it_left_behind_for_its_person_and_managers(
    workspace: Workspace, ann: User, run: Run
) -> None:
    follow_up = Run.objects.get(extraction__source=run)
    pages = f"/w/{workspace.slug}/runs"
    page = browser(ann).get(f"{pages}/{run.pk}/").content.decode()
    assert "Remembered" in page
    assert f"{TEXT}<small" in page
    assert "said in turn 1" in page
    assert f"{pages}/{follow_up.pk}/" in page
    back = browser(ann).get(f"{pages}/{follow_up.pk}/").content.decode()
    assert f"{pages}/{run.pk}/#remembered" in back
    other = browser(member(workspace, Role.OPERATOR))
    page = other.get(f"{pages}/{run.pk}/").content.decode()
    assert "Remembered" in page
    assert TEXT not in page
    assert TEXT in browser(member(workspace)).get(f"{pages}/{run.pk}/").content.decode()


def test_the_memory_names_the_run_in_the_api_and_links_to_it_in_the_admin(
    workspace: Workspace, ann: User, run: Run
) -> None:
    item = MemoryItem.objects.get(workspace=workspace)
    path = f"/api/v1/memories/{item.pk}"
    found = browser(ann).get(path, {"workspace": workspace.slug}).json()
    [source] = found["sources"]
    assert (source["run_id"], source["turn"], source["replaced"]) == (str(run.pk), 1, False)
    assert [one["run_id"] for one in found["history"]] == [str(run.pk)]
    page = browser(member(workspace)).get(f"/admin/memory/memoryitem/{item.pk}/change/")
    assert f"/w/{workspace.slug}/runs/{run.pk}/" in page.content.decode()


def test_webhooks_are_sent_no_extraction(workspace: Workspace, run: Run) -> None:
    endpoint = WebhookEndpoint.objects.create(
        workspace=workspace,
        url="https://x.example",
        events=["run.succeeded"],
        events_from=run.created_at,
    )
    Held(Run.objects.get(extraction__source=run).pk).finish("Found nothing.")
    create_webhook_deliveries(endpoint)
    assert [one.run_id for one in endpoint.deliveries.all()] == [run.pk]
