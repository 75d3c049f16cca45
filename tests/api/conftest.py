"""Callers with keys of the web server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.server import Caller, key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer


@pytest.fixture
def caller(web: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """A client with every scope in a workspace of the test's own."""
    found = Caller(web, key_for(workspace))
    with found.http:
        yield found
