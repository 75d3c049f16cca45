"""A builder on the installation under test, with the wire server as its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heartbit_site.library import Heartbit, shared_host
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer


@pytest.fixture(scope="module")
def host(database: None) -> Iterator[None]:
    """The process's host, which sweeps: later tests are to be alone with their runs."""
    yield
    shared_host.close()


@pytest.fixture(autouse=True)
def own_tools() -> Iterator[None]:
    """What a test's program registers is gone after it, as if its process had ended."""
    before = set(registry)
    yield
    for name in set(registry) - before:
        del registry[name]


@pytest.fixture
def heartbit(host: None, workspace: Workspace, wire_server: WireServer) -> Heartbit:
    """A builder without agents, in a workspace of the test's own."""
    return Heartbit(workspace=workspace.slug).provider("openai:fake")
