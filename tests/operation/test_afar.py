"""The same through a server: agents of the key's workspace, and the fleet for operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Run
from tests.api.server import WebServer, key_for
from tests.operation.test_quarantine import quarantined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agents.models import Agent
    from heartbit_site.base.models import Workspace
    from tests.command import Command, Ended

    There = Callable[..., Ended]


@pytest.fixture(scope="module")
def web(database: None) -> Iterator[WebServer]:
    """The web process."""
    with WebServer() as server:
        yield server


@pytest.fixture
def there(web: WebServer, workspace: Workspace, heartbit: Command) -> There:
    """A command with every scope in the test's workspace, or with those that are named."""

    def ask(*arguments: str, scopes: tuple[str, ...] = ()) -> Ended:
        key = key_for(workspace, scopes) if scopes else key_for(workspace)
        return heartbit(*arguments, env={"HEARTBIT_URL": web.url, "HEARTBIT_API_KEY": key})

    return ask


def test_agents_are_switched_from_afar(there: There, solo: Agent) -> None:
    assert there("agents", "stop", "solo").out == "The agent solo is stopped.\n"
    solo.refresh_from_db()
    assert not solo.enabled
    status = there("agents", "status", "solo", "--json").json
    assert (status["state"], status["tools"]["loaded"]) == ("stopped", ["current_time"])
    assert "solo" in there("agents", "status").out
    assert there("agents", "start", "solo", "--json").json["state"] == "idle"
    refused = there("agents", "stop", "solo", scopes=("agents:read",))
    assert refused.code == 2
    assert "agents:write" in refused.err
    unknown = there("agents", "stop", "sol")
    assert unknown.code == 2
    assert "solo" in unknown.err


def test_the_fleet_is_for_operators(there: There) -> None:
    shown = there("fleet", "--json").json
    assert set(shown) == {"workers", "queues", "totals", "problems", "pauses"}
    assert "slots in use" in there("fleet").out
    refused = there("fleet", scopes=("runs:read", "agents:read"))
    assert refused.code == 2
    assert "fleet:manage" in refused.err
    assert there("fleet", "restart", "999999999").code == 2


def test_a_quarantine_is_settled_from_afar(there: There, workspace: Workspace) -> None:
    run = quarantined(workspace)
    assert there("runs", "discard", str(run.pk)).out == f"Run {run.pk} is discarded.\n"
    again = there("runs", "discard", str(run.pk))
    assert again.code == 2
    assert "not in quarantine" in again.err


def test_a_local_run_is_retried_by_whoever_can_go_on_with_it(
    there: There, heartbit: Command, workspace: Workspace
) -> None:
    first, second = quarantined(workspace), quarantined(workspace)
    Run.objects.filter(pk__in=[first.pk, second.pk]).update(home="local")
    env = {"HEARTBIT_WORKSPACE": workspace.slug}
    at_home = heartbit("runs", "retry", str(first.pk), env=env)
    again = at_home.out.strip()
    assert Run.objects.get(pk=again).home == "local"
    assert f"`heartbit resume {again}`" in at_home.err
    from_afar = there("runs", "retry", str(second.pk), "--json").json
    assert Run.objects.get(pk=from_afar["run"]).home == from_afar["home"] == "fleet"
