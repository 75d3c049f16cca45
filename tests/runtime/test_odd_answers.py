"""Runs whose model answers with nothing, or with calls that its server does not tell apart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from agents.choices import RunStatus
from agents.models import Agent, Run
from heartbit_site.base import orm
from tests.llm.raw_server import STREAM, RawServer, raw_server
from tests.llm.samples import chunk, sse

if TYPE_CHECKING:
    import asyncio

    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
MODEL = "compatible:odd"


@asynccontextmanager
async def model_server(
    monkeypatch: pytest.MonkeyPatch, *answers: bytes
) -> AsyncIterator[RawServer]:
    """Answer with one stream after the other, and the last one from then on."""

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = min(len(server.requests), len(answers)) - 1
        writer.write(STREAM + answers[number])

    async with raw_server(script) as server:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", f"{server.url}/v1")
        yield server


def said(text: str, finish: str = "stop") -> bytes:
    return sse(chunk({"content": text}), chunk({}, finish), "[DONE]")


def called(*calls: dict[str, Any]) -> bytes:
    return sse(chunk({"tool_calls": list(calls)}), chunk({}, "tool_calls"), "[DONE]")


def add(expression: str, **fields: Any) -> dict[str, Any]:
    arguments = json.dumps({"expression": expression})
    return {"function": {"name": "calculate", "arguments": arguments}, **fields}


async def failure(run: Run) -> tuple[RunStatus, str, str]:
    error = run.error or {}
    return RunStatus(run.status), error.get("kind", ""), error.get("message", "")


async def test_an_empty_answer_is_asked_about_once_more(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(agent)
    async with model_server(monkeypatch, said(" \n"), said("Six.")) as server:
        run = await studio.run("How many?", model=MODEL)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Six.")
    sent = [message["content"] for message in json.loads(server.requests[1])["messages"]]
    assert sent[-2:] == ["How many?", "Your last answer was empty. Give your answer now."]


async def test_a_model_that_says_nothing_at_all_fails_the_run(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(agent)
    async with model_server(monkeypatch, said("")) as server:
        run = await studio.run("How many?", model=MODEL)
    assert await failure(run) == (
        RunStatus.FAILED,
        "model",
        "The model of solo gave 3 empty answers in a row (finish reason: stop): ask differently, "
        "or choose another model.",
    )
    assert len(server.requests) == 3


@pytest.mark.parametrize("text", ["", "<think>\nSo many things to think of"])
async def test_an_answer_that_was_cut_before_its_first_word_fails_at_once(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    await orm.run_in_thread(lambda: agent(max_tokens=1_000))
    async with model_server(monkeypatch, said(text, "length")) as server:
        run = await studio.run("How many?", model=MODEL)
    assert await failure(run) == (
        RunStatus.FAILED,
        "model",
        "The model of solo reached the limit of its answer before it wrote a word of it: raise "
        "max_tokens of solo (1,000 now), or lower its reasoning_effort.",
    )
    assert len(server.requests) == 1


async def test_a_refusal_without_a_word_fails_at_once(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(agent)
    async with model_server(monkeypatch, said("", "content_filter")) as server:
        run = await studio.run("How many?", model=MODEL)
    status, kind, message = await failure(run)
    assert (status, kind) == (RunStatus.FAILED, "model")
    assert message.startswith("The model of solo refused to answer")
    assert len(server.requests) == 1


async def test_an_empty_answer_in_the_last_turn_is_named_as_such(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(lambda: agent(max_turns=1))
    async with model_server(monkeypatch, said("")):
        run = await studio.run("How many?", model=MODEL)
    status, kind, message = await failure(run)
    assert (status, kind) == (RunStatus.FAILED, "model")
    assert message.startswith("The model of solo gave an empty answer (finish reason: stop)")


async def test_each_result_goes_back_under_an_id_of_its_own(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    answers = (
        called(add("1+1", index=0, id="call_0"), add("2+2", index=1, id="call_0")),
        called(add("3+3", index=0, id="call_0")),
        called(add("4+4"), add("5+5", id="mine")),
        said("Done."),
    )
    async with model_server(monkeypatch, *answers) as server:
        run = await studio.run("Add.", model=MODEL)
    assert run.output == "Done."
    messages = json.loads(server.requests[-1])["messages"]
    asked = {
        call["id"]: json.loads(call["function"]["arguments"])["expression"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    found = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    assert sorted(asked.values()) == ["1+1", "2+2", "3+3", "4+4", "5+5"]
    results = {"1+1": "2", "2+2": "4", "3+3": "6", "4+4": "8", "5+5": "10"}
    assert found == {call_id: results[asked[call_id]] for call_id in asked}
    assert {"call_0", "mine"} <= set(asked), "an id that is unique stays the provider's"
