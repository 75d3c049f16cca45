"""A change of a business row starts a run in its own transaction, or neither is there (N7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction
from django.test import override_settings

from agents.actions.publish_agent import publish_agent
from agents.actions.triggered_runs import follow_all
from agents.definitions.triggers import TRIGGERS, Change, on_change
from agents.errors import AgentNotFoundError
from agents.models import Agent, Run, ToolBinding
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.log_context import RUN
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.tools import shop
from tests.tools.shop import agent_triggers
from tests.tools.shop.models import Order
from tests.tools.shop.setting import Scene, scene, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

__all__ = ["scene", "tables"]

APP = shop.__name__
QUEUE = "triggers"


@pytest.fixture(scope="module", autouse=True)
def followed(tables: None) -> None:
    """The shop's triggers, in this process."""
    assert {"ship", "archive"} <= TRIGGERS.keys(), agent_triggers.__name__
    follow_all()


@pytest.fixture
def shipper(workspace: Workspace) -> Agent:
    return made(workspace, "shipper")


def made(workspace: Workspace, name: str) -> Agent:
    agent = Agent.objects.create(
        workspace=workspace, name=name, system_prompt="Work.", queue=QUEUE, model="openai:fake"
    )
    publish_agent(agent)
    return agent


def send(order: Order, workspace: Workspace) -> None:
    order.note, order.status = f"in {workspace.slug}", "sent"
    order.save()


def runs(workspace: Workspace, starter: str = "trigger ship") -> list[Run]:
    found = Run.objects.filter(workspace=workspace, started_by=starter)
    return list(found.order_by("created_at"))


def test_given_a_change_that_commits_then_one_run_has_the_values_before_and_after(
    workspace: Workspace, shipper: Agent, scene: Scene
) -> None:
    send(scene.first, workspace)
    [run] = runs(workspace)
    assert (run.agent, run.status, run.hops) == ("shipper", "queued", 0)
    assert (run.payload or {})["inputs"] == {
        "model": "shop.order",
        "pk": scene.first.pk,
        "old": {"number": "A1", "status": "new", "note": "Ring twice.", "due": None},
        "new": {"number": "A1", "status": "sent", "note": f"in {workspace.slug}", "due": None},
    }
    assert "Order A1 is on its way" in run.task

    scene.first.save()  # nothing changes
    scene.first.due = "2026-12-01"
    scene.first.save(update_fields=["due"])  # what changes is not what `when` waits for
    assert len(runs(workspace)) == 1
    order = Order.objects.get(pk=scene.first.pk)
    order.status = "new"
    order.save()
    send(order, workspace)
    assert len(runs(workspace)) == 2, "each such change is one"


def test_given_a_change_that_is_rolled_back_then_no_run_is_there(
    workspace: Workspace, shipper: Agent, scene: Scene
) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        send(scene.first, workspace)
        assert len(runs(workspace)) == 1, "it is in the transaction"
        raise ZeroDivisionError
    assert not runs(workspace)
    assert Order.objects.get(pk=scene.first.pk).status == "new"


def test_given_a_run_that_cannot_start_then_the_change_is_not_made_either(
    workspace: Workspace, scene: Scene
) -> None:
    with pytest.raises(AgentNotFoundError):
        send(scene.first, workspace)
    assert Order.objects.get(pk=scene.first.pk).status == "new"
    scene.first.note, scene.first.status = "in nowhere-at-all", "sent"
    with pytest.raises(ConfigurationError, match="nowhere-at-all"):
        scene.first.save()
    assert Order.objects.get(pk=scene.first.pk).status == "new"


def test_given_a_new_row_and_a_deletion_then_they_are_changes_too(
    workspace: Workspace, shipper: Agent, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    note = f"in {workspace.slug}"
    order = Order.objects.create(shop=scene.first.shop, number="A9", status="sent", note=note)
    [run] = runs(workspace)
    assert (run.payload or {})["inputs"]["old"] == {}

    order.delete()  # the archivist is not there, and the trigger does not require it
    assert not Order.objects.filter(number="A9").exists()
    assert "the trigger archive starts no run" in caplog.text
    made(workspace, "archivist")
    again = Order.objects.create(shop=scene.first.shop, number="A8", note=note)
    Order.objects.filter(pk=again.pk).delete()
    [kept] = runs(workspace, "trigger archive")
    assert kept.task == '{"order": "A8"}'


def test_given_a_chain_of_runs_then_the_limit_of_hops_ends_it_and_the_change_stays(
    workspace: Workspace, shipper: Agent, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    send(scene.first, workspace)
    [first] = runs(workspace)
    token = RUN.set(first.pk)
    try:
        send(scene.second, workspace)  # it was sent before
        scene.second.status = "new"
        scene.second.save()
        send(scene.second, workspace)
        [_, second] = runs(workspace)
        assert second.hops == 1
        with override_settings(HEARTBIT_MAX_MESSAGE_HOPS=0):
            send(scene.bens, workspace)
    finally:
        RUN.reset(token)
    assert len(runs(workspace)) == 2
    assert Order.objects.get(pk=scene.bens.pk).status == "sent"
    assert "the limit is 0" in caplog.text


def test_given_two_triggers_of_one_name_or_an_unknown_field_then_a_sentence_says_so() -> None:
    with pytest.raises(ConfigurationError, match="Two triggers have the name 'ship'"):
        on_change(Order, agent="a", name="ship")(lambda change: None)
    with pytest.raises(ConfigurationError, match="Order has no field 'nmber'"):
        on_change(Order, agent="a", fields=["nmber"])(lambda change: None)
    assert Change("m", 1, {}, {"a": None}).changed == ("a",)


@pytest.fixture(scope="module")
def fleet(tables: None, wire_server: WireServer) -> Iterator[None]:
    with Worker(queues=QUEUE, environment={"HEARTBIT_EXTRA_APPS": APP}):
        yield


def test_given_an_agent_that_changes_a_row_then_the_run_that_follows_knows_who_led_to_it(
    fleet: None, workspace: Workspace, shipper: Agent, scene: Scene
) -> None:
    clerk = made(workspace, "clerk")
    ToolBinding.objects.create(agent=clerk, tool="orders_update")
    publish_agent(clerk)
    change: dict[str, Any] = {"user_id": scene.anna.pk, "name": "anna", "via": "web"}
    task = (
        f'[[calls: orders_update {{"id": {scene.first.pk}, "status": "sent", '
        f'"note": "in {workspace.slug}"}}]] [[text: Done.]]'
    )
    cause = start_run(workspace, task, agent="clerk", by=Actor(**change))
    wait_until(lambda: Run.objects.filter(pk=cause, status="succeeded").exists())
    [run] = runs(workspace)
    wait_until(lambda: Run.objects.filter(pk=run.pk, status="succeeded").exists())
    run.refresh_from_db()
    assert (run.output, run.hops) == ("Order A1 is on its way.", 1)
