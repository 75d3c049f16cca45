"""The bare Celery floor: the same calls as chains and chords of plain tasks, nothing durable.

Same broker, same HTTP client; conversations travel in the messages. Its worker is Celery as it
comes, with none of what Heartbit does for its own (``heartbit_site.kombu_patches``, ``pool``).
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, Signature, chain, chord, group
from pydantic import TypeAdapter

from agents.llm.messages import Message, ToolMessage, UserMessage
from heartbit_site.base import aio
from heartbit_site.environment import celery_broker
from tests.bench import calls
from tests.bench.workloads import LEAD, MEMBERS, SOLO, WORKER

QUEUE = "bench-floor"
Canvas = Signature[Any]

app = Celery("bench-floor", set_as_current=False)
app.conf.update(
    accept_content=["json"],
    task_default_queue=QUEUE,
    worker_prefetch_multiplier=1,
    worker_disable_rate_limits=True,
    broker_connection_retry_on_startup=True,
)


def connect(redis_url: str) -> None:
    """Say where the broker is; the worker process finds it in its environment."""
    app.conf.update(broker_url=celery_broker(redis_url), result_backend=celery_broker(redis_url))


if "BENCH_REDIS_URL" in os.environ:
    connect(os.environ["BENCH_REDIS_URL"])
_CONVERSATION: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])


def _dump(*messages: Message) -> list[Any]:
    dumped: list[Any] = _CONVERSATION.dump_python(messages, mode="json")
    return dumped


@app.task(name="bench.ask")
def ask(task: str, *, agent: str) -> list[Any]:
    """The first turn: the conversation with the model's answer."""
    offered = {SOLO: (), LEAD: calls.DELEGATE}.get(agent, calls.TOOLS)
    return _dump(UserMessage(task), aio.run(calls.ask((UserMessage(task),), offered)))


@app.task(name="bench.say")
def say(conversation: list[Any], task: str) -> list[Any]:
    """One more message of a chat: the conversation with its answer."""
    messages = (*_CONVERSATION.validate_python(conversation), UserMessage(task))
    return _dump(*messages, aio.run(calls.ask(messages, ())))


@app.task(name="bench.tools")
def tools(conversation: list[Any]) -> list[Any]:
    """The tool calls of the last answer, side by side: the conversation with their results."""
    messages = _CONVERSATION.validate_python(conversation)
    return _dump(*messages, *aio.run(calls.call_all(messages[-1])))


@app.task(name="bench.answer")
def answer(conversation: list[Any]) -> str:
    """The last turn."""
    return aio.run(calls.ask(_CONVERSATION.validate_python(conversation), calls.TOOLS)).text


@app.task(name="bench.synthesise")
def synthesise(answers: list[str], task: str) -> str:
    """The orchestrator's last turn; its first message stands for the two before."""
    results = ToolMessage("call_1", "delegate_task", "\n".join(answers))
    first = _CONVERSATION.validate_python(_dump(UserMessage(task)))
    return aio.run(calls.ask((*first, results), calls.DELEGATE)).text


def _worker(task: str) -> Canvas:
    return chain(ask.si(task, agent=WORKER), tools.s(), answer.s())


def solo_canvas(task: str) -> Canvas:
    """W1: one task."""
    return ask.s(task, agent=SOLO)


def worker_canvas(task: str) -> Canvas:
    """W2: model, tools, model, as a chain of three tasks."""
    return _worker(task)


def lead_canvas(task: str, child_task: str) -> Canvas:
    """W4: model, three of W2, model."""
    header = group(_worker(child_task) for _ in MEMBERS)
    return chain(ask.si(task, agent=LEAD), chord(header, synthesise.s("Sum up.")))
