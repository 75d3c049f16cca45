"""A web server, and callers with keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.server import Caller, WebServer, key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace


@pytest.fixture(scope="session")
def web(database: None) -> Iterator[WebServer]:
    """The web process; its log may hold no defect at the end."""
    with WebServer() as server:
        yield server
        log = server.log.read_text()
        assert "Traceback" not in log, log[-4000:]


@pytest.fixture
def caller(web: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """A client with every scope in a workspace of the test's own."""
    found = Caller(web, key_for(workspace))
    with found.http:
        yield found
