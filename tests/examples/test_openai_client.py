"""OpenAI's client streams an agent's answer, and continues a conversation with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Agent, Run
from tests.api.server import key_for
from tests.examples.folders import imported

if TYPE_CHECKING:
    import pytest

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker


def test_an_agent_answers_openai_s_client(
    web: WebServer,
    worker: Worker,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{web.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", key_for(workspace))
    imported("openai_client")["main"]("[[text: Bees pollinate.]]")
    said = capsys.readouterr()
    assert said.out.startswith("Bees pollinate.\nBees pollinate.\n")
    models, run = said.err.splitlines()
    assert "writer" in models
    assert Run.objects.get(pk=run.removeprefix("run ")).status == "succeeded"
