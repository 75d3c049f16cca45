"""Messages are kept once, in an order, in the inboxes that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import DatabaseError, transaction

from agents.actions.inbox import reply_to_message
from agents.actions.send_message import send_message, start_agent
from agents.choices import Placement
from agents.dry_runs.rollback_run import rehearse
from agents.errors import (
    AgentNotFoundError,
    EmptyTaskError,
    RecipientError,
    RunStateError,
    UnknownMessageError,
)
from agents.messaging.addresses import Sender, sender_of_person
from agents.messaging.texts import describe_receipt
from agents.models import Agent, Message, Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry, Workspace
from tests.messaging.conftest import ALL, Writes, context_of, inbox
from tools.calls import pipeline
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor


def test_a_message_is_in_the_inbox_of_the_agent_alone(workspace: Workspace, writes: Writes) -> None:
    sent = send_message(writes("writer"), "researcher", "The draft is done.", thread="draft")
    assert (sent.sender, sent.recipient) == ("agent:writer", "agent:researcher")
    assert (sent.thread, sent.seq, sent.hops, sent.run_id) == ("draft", 1, 0, None)
    [entry] = inbox(workspace, "researcher")
    assert (entry.message_id, entry.read_at) == (sent.pk, None)
    assert inbox(workspace, "analyst") == []


@pytest.mark.parametrize("to", ["researcher", "agent:researcher", "@Researcher "])
def test_an_agent_is_found_by_its_name_however_it_is_written(ada: Sender, to: str) -> None:
    assert send_message(ada, to, "Hello.").recipient == "agent:researcher"


def test_eight_senders_on_one_thread_are_put_in_one_order(
    workspace: Workspace, threads: ThreadPoolExecutor
) -> None:
    people = [sender_of_person(workspace, Actor(f"p{number}", "api")) for number in range(8)]

    def talk(sender: Sender) -> list[int]:
        texts = [f"{sender.address} {number}" for number in range(10)]
        return [send_message(sender, "writer", text, thread="one").seq for text in texts]

    numbers = [number for found in threads.map(talk, people) for number in found]
    assert sorted(numbers) == list(range(1, 81)), "none is missing, none comes twice"
    read = [entry.message for entry in inbox(workspace, "writer")]
    assert [message.seq for message in read] == list(range(1, 81)), "read in that order"
    for sender in people:
        mine = [message.body for message in read if message.sender == sender.address]
        assert mine == [f"{sender.address} {number}" for number in range(10)]


def test_a_broadcast_reaches_each_other_agent_once(workspace: Workspace, writes: Writes) -> None:
    sent = send_message(writes("orchestrator"), "broadcast", "We begin at nine.")
    assert sent.recipient == "broadcast"
    for name in ("researcher", "analyst", "writer"):
        assert [entry.message_id for entry in inbox(workspace, name)] == [sent.pk]
    assert inbox(workspace, "orchestrator") == []
    assert describe_receipt(sent).startswith("Sent to 3 agents (")


def test_a_broadcast_to_nobody_is_refused(workspace: Workspace, writes: Writes) -> None:
    sender = writes("writer")
    Agent.objects.filter(workspace=workspace).exclude(name="writer").update(current_version=None)
    with pytest.raises(RecipientError, match="no other agent"):
        send_message(sender, "broadcast", "Is anybody there?")


def test_a_key_sends_once_however_many_send_with_it(
    workspace: Workspace, writes: Writes, threads: ThreadPoolExecutor
) -> None:
    sender, key = writes("writer"), str(uuid4())

    def again(_: int) -> Message:
        return send_message(sender, "analyst", "Once.", key=key)

    assert len({message.pk for message in threads.map(again, range(8))}) == 1
    assert len(inbox(workspace, "analyst")) == 1


def test_a_task_is_kept_with_the_run_that_it_starts_once(writes: Writes) -> None:
    before = writes("writer").run
    assert before is not None
    Run.objects.filter(pk=before.pk).update(priority=7, approve=True)
    sender = writes(run_id=before.pk)
    sent = start_agent(sender, "analyst", "Count the bees.", key="once")
    assert start_agent(sender, "analyst", "Count the bees.", key="once") == sent
    assert sent.run_id is not None
    run = Run.objects.get(pk=sent.run_id)
    assert (run.agent, run.parent, run.priority, run.approve) == ("analyst", None, 7, True)
    assert (run.model_override, run.started_by) == ("openai:fake", "agent:writer")
    assert run.task == f"Task from agent:writer (message {sent.pk}):\n\nCount the bees."
    assert sent.kind == "task"
    assert Run.objects.filter(workspace=run.workspace, agent="analyst").count() == 1


def test_a_run_without_the_fleet_starts_nothing_that_outlives_it(writes: Writes) -> None:
    with pytest.raises(RunStateError, match="use ask_agent"):
        start_agent(writes("writer", home=Placement.LOCAL), "analyst", "Count.")


def test_what_was_kept_is_never_changed(ada: Sender) -> None:
    sent = send_message(ada, "writer", "As it was.")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Message.objects.filter(pk=sent.pk).update(body="Otherwise.")
    assert Message.objects.get(pk=sent.pk).body == "As it was."


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("reseacher", "did you mean researcher"),
        ("system", "There is no agent named 'system'"),
        ("person:ada", "People are answered"),
        ("writer", "your own address"),
        ("agent:writer", "your own address"),
    ],
)
def test_an_address_that_is_nobodys_says_what_to_write_instead(
    writes: Writes, to: str, says: str
) -> None:
    with pytest.raises((AgentNotFoundError, RecipientError), match=says):
        send_message(writes("writer"), to, "Hello.")


def test_a_task_goes_to_one_agent_that_is_not_stopped(workspace: Workspace, ada: Sender) -> None:
    with pytest.raises(RecipientError, match="name one agent"):
        start_agent(ada, "broadcast", "Go.")
    Agent.objects.filter(workspace=workspace, name="writer").update(enabled=False)
    with pytest.raises(AgentNotFoundError, match="is stopped"):
        start_agent(ada, "writer", "Go.")
    assert not Message.objects.filter(workspace=workspace).exists()
    assert send_message(ada, "writer", "For later.").recipient == "agent:writer"


def test_texts_have_a_length(ada: Sender) -> None:
    with pytest.raises(EmptyTaskError):
        send_message(ada, "writer", " \n ")
    with pytest.raises(RecipientError, match="20,001 characters"):
        send_message(ada, "writer", "x" * 20_001)
    with pytest.raises(RecipientError, match="thread"):
        send_message(ada, "writer", "x", thread="t" * 101)


def test_another_workspace_is_out_of_reach(
    workspace: Workspace, ada: Sender, writes: Writes
) -> None:
    elsewhere = Workspace.objects.create(slug=f"e-{uuid4().hex[:8]}", name="elsewhere")
    spy = sender_of_person(elsewhere, Actor("spy", "api"))
    with pytest.raises(AgentNotFoundError):
        send_message(spy, "writer", "Let me in.")
    sent = send_message(writes("analyst"), "writer", "A secret.", key="k", thread="t")
    with pytest.raises(UnknownMessageError):
        reply_to_message(spy, str(sent.pk), "Tell me more.")
    Agent.objects.filter(workspace=workspace, name="writer").update(workspace=elsewhere)
    there = send_message(spy, "writer", "Mine.", key="k", thread="t")
    assert there.pk != sent.pk
    assert there.seq == 1, "threads and keys are each workspace's own"


def test_agents_of_a_program_know_only_each_other(workspace: Workspace, ada: Sender) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(origin="program")
    with pytest.raises(AgentNotFoundError):
        send_message(ada, "writer", "Hello.")
    sent = send_message(ada, "broadcast", "Hello.")
    assert sent.entries.filter(agent__name="writer").count() == 0
    assert sent.entries.count() == 3


def test_a_sender_learns_that_nobody_will_read(ada: Sender, agent: Callable[..., Agent]) -> None:
    agent("reader", tools=ALL)
    assert describe_receipt(send_message(ada, "reader", "x")).endswith("on its thread).")
    assert "writer has no tool to read its inbox" in describe_receipt(
        send_message(ada, "writer", "x")
    )


def test_people_are_in_the_audit_and_what_they_said_is_not(
    workspace: Workspace, ada: Sender
) -> None:
    sent = send_message(ada, "writer", "a canary of a text")
    entry = AuditEntry.objects.get(chain=workspace.pk, action="message.send")
    assert (entry.actor, entry.target, entry.label) == (
        *("ada", f"message:{sent.pk}", "agent:writer"),
    )
    assert "canary" not in str(entry.details)


def test_a_message_that_is_tried_is_not_sent(workspace: Workspace, writes: Writes) -> None:
    run = writes("writer").run
    assert run is not None
    prepared = pipeline.prepare(
        registry,
        name="send_message",
        arguments='{"to": "analyst", "text": "Hello."}',
        context=context_of(run),
    )
    assert isinstance(prepared, pipeline.PreparedCall)
    tried = rehearse(prepared)
    assert (tried.status, tried.refused) == ("ok", "")
    assert {table.table for table in tried.tables} == {"agents_inboxentry", "agents_message"}
    assert not Message.objects.filter(workspace=workspace).exists()
