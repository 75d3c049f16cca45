"""The shop's tools in runs: offered to those who may, and shown before they are approved (E6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run, ToolBinding
from heartbit_site.base.audit import Actor
from tests.api.server import Caller, WebServer, key_for
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.tools import shop
from tests.tools.shop.models import Order
from tests.tools.shop.setting import Scene, person, scene, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

__all__ = ["scene", "tables"]

APP = shop.__name__
QUEUE = "shop"


@pytest.fixture(scope="module")
def server(tables: None, wire_server: WireServer) -> Iterator[WebServer]:
    """A web process and a worker with the app."""
    with (
        Worker(queues=QUEUE, environment={"HEARTBIT_EXTRA_APPS": APP}),
        WebServer(HEARTBIT_EXTRA_APPS=APP) as server,
    ):
        yield server


@pytest.fixture
def clerk(workspace: Workspace, scene: Scene) -> Agent:
    """An agent with the shop's tools; changes wait for a person."""
    agent = Agent.objects.create(
        workspace=workspace, name="clerk", system_prompt="Keep orders.", queue=QUEUE
    )
    for tool, approval in (("orders_list", ""), ("orders_update", "always")):
        ToolBinding.objects.create(agent=agent, tool=tool, approval=approval)
    publish_agent(agent)
    return agent


@pytest.fixture
def caller(server: WebServer, workspace: Workspace) -> Iterator[Caller]:
    found = Caller(server, key_for(workspace))
    with found.http:
        yield found


def started(workspace: Workspace, task: str, user: Any) -> Run:
    by = Actor("anna", "web", user.pk)
    return Run.objects.get(pk=start_run(workspace, task, agent="clerk", model="openai:fake", by=by))


def test_given_a_change_that_waits_then_its_rows_are_shown_and_what_was_approved_is_done(
    caller: Caller, workspace: Workspace, clerk: Agent, scene: Scene
) -> None:
    change = f'orders_update {{"id": {scene.first.pk}, "status": "sent"}}'
    run = started(workspace, f"[[calls: orders_list {{}}]] [[then: {change}]]", scene.anna)
    [asked] = wait_until(lambda: caller.get("/approvals", run=str(run.pk)).json()["calls"])
    path = f"/runs/{run.pk}/calls/{asked['call_id']}"

    tried = caller.post(f"{path}/dry-run", {"digest": asked["digest"]})
    assert tried.status_code == 200, tried.text
    assert tried.json()["status"] == "ok", tried.json()["result"]
    [table] = tried.json()["tables"]
    [row] = table["rows"]
    changed = {one["column"]: (one["old"]["text"], one["new"]["text"]) for one in row["columns"]}
    assert (table["table"], row["kind"]) == ("shop_order", "updated")
    assert row["key"][0]["value"]["text"] == str(scene.first.pk)
    assert changed["status"] == ("new", "sent")
    assert changed.keys() == {"status", "changed_at"}
    assert Order.objects.get(pk=scene.first.pk).status == "new", "nothing is kept"

    caller.post(f"{path}/decision", {"digest": asked["digest"], "verdict": "approve"})
    assert caller.ended(str(run.pk))["status"] == "succeeded"
    assert Order.objects.get(pk=scene.first.pk).status == "sent"
    listed, updated = run.calls.order_by("id")
    assert (listed.status, updated.status) == ("ok", "ok")
    assert '"number":"A1"' in str(listed.result)
    assert '"number":"B1"' not in str(listed.result)


def test_given_a_person_without_the_permission_then_the_tool_is_not_offered(
    server: WebServer, workspace: Workspace, clerk: Agent, scene: Scene
) -> None:
    reader = person("view")
    scene.first.shop.members.add(reader)
    change = f'orders_update {{"id": {scene.first.pk}, "status": "sent"}}'
    run = started(workspace, f"[[calls: orders_list {{}}, {change}]]", reader)
    wait_until(lambda: Run.objects.filter(pk=run.pk, finished_at__isnull=False).exists())
    listed, refused = run.calls.order_by("id")
    assert (listed.status, refused.status) == ("ok", "refused")
    assert reader.username in str(refused.result)


def test_given_a_permission_lost_while_a_change_waits_then_the_approved_call_is_refused(
    caller: Caller, workspace: Workspace, clerk: Agent, scene: Scene
) -> None:
    change = f'orders_update {{"id": {scene.first.pk}, "status": "sent"}}'
    run = started(workspace, f"[[calls: {change}]]", scene.anna)
    [asked] = wait_until(lambda: caller.get("/approvals", run=str(run.pk)).json()["calls"])
    scene.anna.user_permissions.clear()
    decision = {"digest": asked["digest"], "verdict": "approve"}
    caller.post(f"/runs/{run.pk}/calls/{asked['call_id']}/decision", decision)
    caller.ended(str(run.pk))
    [call] = run.calls.all()
    assert call.status != "ok"
    assert Order.objects.get(pk=scene.first.pk).status == "new"
