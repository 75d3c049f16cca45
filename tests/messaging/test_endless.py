"""Agents that keep writing to each other reach their limits: only people give a run new turns."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from agents.actions.inbox import read_inbox, reply_to_message, steer_with_reply
from agents.actions.send_message import send_message
from agents.choices import RunStatus
from agents.errors import MessageLimitReachedError
from agents.journal.events import ModelAnswered, RunSteered
from agents.live.follow import wait_for_end
from agents.models import Agent, Message, Run, RunEvent
from heartbit_site.base import orm
from tests.messaging.conftest import ALL, Writes, sender_of_run
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agents.messaging.addresses import Sender
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


def run_of(sender: Sender) -> Run:
    return cast("Run", sender.run)


def answer_all(sender: Sender, run_id: UUID, text: str, until: threading.Event) -> None:
    """Reply at once to each message that a run writes, thirty at most."""
    done: set[UUID] = set()
    while not until.wait(0.02):
        for message in Message.objects.filter(source_run_id=run_id).exclude(pk__in=done):
            if len(done) < 30:
                done.add(message.pk)
                reply_to_message(sender, str(message.pk), text)


async def test_replies_of_agents_give_no_new_turns(
    studio: Studio, agent: Create, settings: Settings
) -> None:
    settings.HEARTBIT_MAX_MESSAGE_HOPS = 1_000
    await orm.run_in_thread(lambda: agent("one", tools=ALL, max_turns=3))
    await orm.run_in_thread(lambda: agent("two", tools=ALL, queue="nobody-serves-this"))
    two = await orm.run_in_thread(
        lambda: start_run(studio.workspace, "Write.", agent="two", model="openai:fake")
    )
    sender = await orm.run_in_thread(lambda: sender_of_run(Run.objects.get(pk=two)))
    call = json.dumps({"to": "two", "text": "Ping."})
    again = f"[[latency: 300]] [[calls: send_message {call}]] [[rounds: 9]] [[text: End.]]"
    run_id = await studio.start(again, agent="one")
    ended = threading.Event()
    answering = asyncio.create_task(
        orm.run_in_thread(partial(answer_all, sender, run_id, f"Pong. {again}", ended))
    )
    run = await wait_for_end(run_id, studio.host.window)
    ended.set()
    await answering
    events = await studio.events(run)
    assert sum(event.type == RunSteered.type for event in events), "it was told while it worked"
    assert sum(event.type == ModelAnswered.type for event in events) == 3
    assert run.status == RunStatus.FAILED
    assert run.error is not None
    assert run.error["limit"] == "max_turns"


async def test_a_reply_that_the_last_answer_has_not_heard_does_not_cost_it(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent("one", tools=ALL, max_turns=2))
    await orm.run_in_thread(lambda: agent("two", tools=ALL, queue="nobody-serves-this"))
    two = await orm.run_in_thread(
        lambda: start_run(studio.workspace, "Write.", agent="two", model="openai:fake")
    )
    sender = await orm.run_in_thread(lambda: sender_of_run(Run.objects.get(pk=two)))
    call = json.dumps({"to": "two", "text": "Ping."})
    run_id = await studio.start(
        f"[[latency: 900]] [[calls: send_message {call}]] [[text: End.]]", agent="one"
    )
    messages = Message.objects.filter(source_run_id=run_id)
    while not (sent := await orm.run_in_thread(messages.first)):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.4)  # the model writes its last answer
    await orm.run_in_thread(lambda: reply_to_message(sender, str(sent.pk), "Pong."))
    run = await wait_for_end(run_id, studio.host.window)
    kinds = [event.type for event in await studio.events(run)]
    assert kinds.index(RunSteered.type) < kinds.index(ModelAnswered.type, -3)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "End.")


def test_a_reply_says_whether_an_agent_or_a_person_gave_it(writes: Writes, ada: Sender) -> None:
    writer, analyst = writes("writer"), writes("analyst")
    sent = send_message(writer, "analyst", "Any news?")
    reply_to_message(analyst, str(sent.pk), "Yes.")
    reply_to_message(ada, str(sent.pk), "No.")
    steers = RunEvent.objects.filter(run=run_of(writer), type=RunSteered.type).order_by("seq")
    assert list(steers.values_list("payload__source", flat=True)) == ["agent", "person"]
    assert not steer_with_reply(sent.pk), "what is no reply is told to nobody"


def test_two_runs_that_read_each_others_messages_are_stopped(
    writes: Writes, settings: Settings
) -> None:
    settings.HEARTBIT_MAX_MESSAGE_HOPS = 8
    one, two = writes("writer"), writes("analyst")
    hops = []
    with pytest.raises(MessageLimitReachedError, match="9 messages in a row"):
        for _ in range(25):
            for sender, to in ((one, "analyst"), (two, "writer")):
                hops.append(send_message(sender, to, "Your turn.").hops)
                read_inbox(run_of(two if sender is one else one), limit=10)
    assert hops == list(range(9))


def test_a_sub_agent_writes_in_the_row_of_what_its_orchestrator_has_read(writes: Writes) -> None:
    one, two = writes("orchestrator"), writes("analyst")
    send_message(two, "orchestrator", "Tell all of them.")
    child = run_of(writes("writer"))
    Run.objects.filter(pk=child.pk).update(parent=one.run, root=one.run)
    sender = sender_of_run(Run.objects.get(pk=child.pk))
    assert send_message(sender, "researcher", "Before.").hops == 0
    read_inbox(run_of(one), limit=10)
    assert send_message(sender, "researcher", "After.").hops == 1
    assert send_message(writes("orchestrator"), "researcher", "Another run.").hops == 0
