"""A quarantine that is settled through a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Run
from tests.api.server import key_for
from tests.operation.test_quarantine import quarantined

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.command import Command, Ended

    There = Callable[..., Ended]


@pytest.fixture
def there(web: WebServer, workspace: Workspace, heartbit: Command) -> There:
    """A command with every scope in the test's workspace."""

    def ask(*arguments: str) -> Ended:
        key = key_for(workspace)
        return heartbit(*arguments, env={"HEARTBIT_URL": web.url, "HEARTBIT_API_KEY": key})

    return ask


def test_a_quarantine_is_settled_from_afar(there: There, workspace: Workspace) -> None:
    run = quarantined(workspace)
    assert there("runs", "discard", str(run.pk)).out == f"Run {run.pk} is discarded.\n"
    again = there("runs", "discard", str(run.pk))
    assert again.code == 2
    assert "quarantine" in again.err


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
    assert Run.objects.get(pk=from_afar["id"]).home == from_afar["placement"] == "fleet"
