"""What the tests of the command line share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Run
from tests.api.server import WebServer, key_for
from tests.cli.places import NOWHERE, Place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command


@pytest.fixture
def runs(database: None) -> Callable[[], int]:
    """How many runs there are."""
    return Run.objects.count


@pytest.fixture(scope="session")
def no_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory that is not there; one for all, so that one prepared process serves all."""
    return tmp_path_factory.getbasetemp() / "no-state"


@pytest.fixture
def here(heartbit: Command, workspace: Workspace) -> Place:
    """`heartbit` for the test's workspace, in this installation."""
    return Place(heartbit, {"HEARTBIT_WORKSPACE": workspace.slug})


@pytest.fixture
def there(heartbit: Command, site: WebServer, workspace: Workspace) -> Place:
    """The same at a server, on a machine that has an address and a key alone."""
    server = {"HEARTBIT_URL": site.url, "HEARTBIT_API_KEY": key_for(workspace)}
    return Place(heartbit, {**NOWHERE, **server})


@pytest.fixture(params=["here", "there"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each of the two: a command does and says the same in both."""
    found: Place = request.getfixturevalue(request.param)
    return found
