"""The provider of the pictures in the place of the tests' own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def wire_server() -> Iterator[ServerProcess]:
    """It plays the shop's agents."""
    with ServerProcess("tests.web.shots.provider") as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        os.environ["OPENAI_API_KEY"] = "test"
        yield server
