"""Who ends a stop: an operator's holds against the workspace's own managers."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from django.db import IntegrityError, connection, transaction

from agents.actions.fleet import pause_work
from agents.errors import HaltedError
from agents.limits.pauses import blocked_reason, of_tool, of_workspace, stopped_tools
from agents.models import Pause, Run
from agents.reads.fleet import read_fleet
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry
from tests.api.server import Caller, key_for
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from agents.models import Agent
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.command import Command

OPERATOR = Actor("root", "terminal")


@pytest.fixture
def manager(web: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """Whoever manages the workspace; nothing stays stopped."""
    found = Caller(web, key_for(workspace, ["workspace:manage"]))
    with found.http:
        yield found
    Pause.objects.filter(workspace=workspace).delete()


@pytest.fixture
def operator(web: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """An operator of the installation."""
    found = Caller(web, key_for(workspace, ["fleet:manage"]))
    with found.http:
        yield found


def held(response: httpx.Response) -> tuple[bool, bool]:
    """Whether it is held back, and whether that was the request's doing."""
    assert response.status_code == 200, response.text
    return response.json()["paused"], response.json()["changed"]


def is_halted(workspace: Workspace) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_halts(%s, heartbit_halted())", [workspace.pk])
        return bool(cursor.fetchone()[0])


def audited(workspace: Workspace) -> list[str]:
    entries = AuditEntry.objects.filter(workspace=workspace).order_by("id")
    return list(entries.values_list("action", flat=True))


def test_given_an_operator_s_stop_then_the_workspace_s_managers_cannot_end_it(
    manager: Caller, operator: Caller, workspace: Workspace, solo: Agent
) -> None:
    halt = f"/fleet/workspaces/{workspace.slug}/halt"
    assert held(operator.post(halt, {"reason": "an incident"})) == (True, True)
    refused = manager.post("/workspace/resume")
    assert refused.status_code == 403, refused.text
    assert refused.json()["code"] == "stopped_by_operator"
    assert refused.json()["detail"] == (
        f"The workspace {workspace.slug} was stopped by an operator, API key test (an incident): "
        "only an operator can end that, on the page Health or by "
        f"`heartbit fleet resume {workspace.slug}`."
    )
    assert is_halted(workspace)
    assert held(operator.post(halt.replace("halt", "resume"))) == (False, True)
    assert not is_halted(workspace)
    assert audited(workspace)[-2:] == ["workspace.stop", "workspace.start"], "and no refusal"
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="workspace.st")
    assert set(entries.values_list("target", flat=True)) == {f"workspace:{workspace.pk}"}


def test_given_both_stops_then_the_managers_end_their_own_and_the_operator_s_holds(
    manager: Caller, operator: Caller, workspace: Workspace, solo: Agent
) -> None:
    assert held(manager.post("/workspace/halt", {"reason": "ours"})) == (True, True)
    assert held(manager.post("/workspace/halt")) == (True, False)
    with pytest.raises(HaltedError, match=r"\(ours\).*a manager ends that, or an operator"):
        start_run(workspace, "x", agent="solo")
    assert pause_work(of_workspace(workspace), by=OPERATOR, reason="theirs")
    with pytest.raises(HaltedError, match=r"by root \(theirs\), so no run starts; an operator"):
        start_run(workspace, "x", agent="solo")
    both = [one.by_operator for one in read_fleet().pauses if one.name == workspace.slug]
    assert both == [False, True]
    assert held(manager.post("/workspace/resume")) == (True, True)
    assert is_halted(workspace)
    assert manager.post("/workspace/resume").status_code == 403
    assert held(manager.post("/workspace/halt")) == (True, True)
    there = f"/fleet/workspaces/{workspace.slug}/resume"
    assert held(operator.post(there)) == (False, True), "an operator ends both"
    assert not is_halted(workspace)
    assert held(manager.post("/workspace/resume")) == (False, False)


def test_given_their_own_stop_then_a_held_run_says_who_ends_it(
    manager: Caller, workspace: Workspace, solo: Agent
) -> None:
    type(solo).objects.filter(pk=solo.pk).update(queue=f"q{secrets.token_hex(4)}")
    run = start_run(workspace, "Wait.", agent="solo")
    manager.post("/workspace/halt", {"reason": "ours"})
    said = "(ours): the run continues when a manager of the workspace ends that, or an operator"
    assert said in blocked_reason(Run.objects.get(pk=run))
    said = f"The workspace {workspace.slug} was stopped by API key test, who manages it (ours)"
    assert any(line.startswith(said) for line in read_fleet().problems)
    assert held(manager.post("/workspace/resume")) == (False, True)
    assert blocked_reason(Run.objects.get(pk=run)).startswith("No worker serves the queue")


def test_given_an_operator_s_stop_of_a_tool_there_then_the_managers_cannot_end_it(
    manager: Caller, operator: Caller, workspace: Workspace
) -> None:
    theirs = f"/fleet/workspaces/{workspace.slug}/tools/calculate"
    own = "/workspace/tools/calculate"
    assert held(operator.post(f"{theirs}/disable", {"reason": "a leak"})) == (True, True)
    refused = manager.post(f"{own}/enable")
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        f"The tool calculate was stopped in {workspace.slug} by an operator, API key test "
        "(a leak): only an operator can end that, on the page Health or by "
        f"`heartbit fleet enable-tool calculate --workspace {workspace.slug}`.",
    )
    assert held(manager.post(f"{own}/disable", {"reason": "ours"})) == (True, True)
    assert stopped_tools(workspace) == {"calculate": "API key test (a leak)"}
    assert held(manager.post(f"{own}/enable")) == (True, True)
    assert held(operator.post(f"{theirs}/enable")) == (False, True)
    assert stopped_tools(workspace) == {}


def test_the_command_ends_both(heartbit: Command, manager: Caller, workspace: Workspace) -> None:
    manager.post("/workspace/halt", {"reason": "ours"})
    done = heartbit("fleet", "halt", workspace.slug)
    assert done.out.strip() == f"The workspace {workspace.slug} is stopped.", done.err
    done = heartbit("fleet", "resume", workspace.slug)
    assert done.out.strip() == f"The workspace {workspace.slug} is resumed.", done.err
    assert not is_halted(workspace)


def test_a_row_of_the_release_before_is_an_operator_s(workspace: Workspace) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO agents_pause (kind, workspace_id, by) VALUES ('workspace', %s, 'x')"
            " RETURNING by_operator",
            [workspace.pk],
        )
        assert cursor.fetchone() == (True,)
    Pause.objects.filter(workspace=workspace).delete()


def test_what_is_no_workspace_s_is_never_its_own() -> None:
    with pytest.raises(IntegrityError, match="pause_own"), transaction.atomic():
        pause_work(of_tool("calculate"), by=OPERATOR, by_operator=False)
