"""The official client of OpenAI, with a key of a workspace of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openai import OpenAI

from agents.models import Agent
from tests.api.conftest import caller
from tests.api.server import key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker

__all__ = ["caller"]


@pytest.fixture
def client(web: WebServer, worker: Worker, workspace: Workspace) -> Iterator[OpenAI]:
    """A client that never tries again by itself."""
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    address = f"{web.url}/v1"
    with OpenAI(base_url=address, api_key=key_for(workspace), max_retries=0) as found:
        yield found
