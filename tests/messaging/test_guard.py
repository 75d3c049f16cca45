"""Messages that go round stop by themselves, and nobody floods the others."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from agents.actions.inbox import reply_to_message
from agents.actions.send_message import send_message, start_agent
from agents.errors import MessageLimitReachedError
from agents.housekeeping.run_housekeeping import MESSAGES_KEPT, prune_messages
from agents.models import InboxEntry, Message, Run
from tests.messaging.conftest import Writes, inbox, sender_of_run

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agents.messaging.addresses import Sender
    from heartbit_site.base.models import Workspace


def in_run(run_id: UUID | None) -> Sender:
    assert run_id is not None
    return sender_of_run(Run.objects.get(pk=run_id))


def test_the_rate_counts_all_runs_of_an_agent_exactly(
    workspace: Workspace, writes: Writes, threads: ThreadPoolExecutor, settings: Settings
) -> None:
    settings.HEARTBIT_MESSAGES_PER_MINUTE = 5
    senders = [writes("writer") for _ in range(8)]

    def send(sender: Sender) -> bool:
        try:
            send_message(sender, "analyst", "Again.")
        except MessageLimitReachedError as error:
            assert "5 messages a minute" in str(error)
            return False
        return True

    assert sorted(threads.map(send, senders)) == [False] * 3 + [True] * 5
    assert len(inbox(workspace, "analyst")) == 5
    assert send_message(writes("researcher"), "analyst", "Mine.").seq == 1, "others may write"


def test_a_minute_later_it_may_write_again(writes: Writes, settings: Settings) -> None:
    settings.HEARTBIT_MESSAGES_PER_MINUTE = 1
    sender = writes("writer")
    Message.objects.create(
        workspace=sender.workspace,
        sender=sender.address,
        recipient="agent:analyst",
        kind="notification",
        thread="t",
        seq=1,
        body="x",
        created_at=timezone.now() - timedelta(seconds=61),
    )
    send_message(sender, "analyst", "Now.")
    with pytest.raises(MessageLimitReachedError):
        send_message(sender, "analyst", "Too early.")


def test_people_are_limited_by_the_api_alone(ada: Sender, settings: Settings) -> None:
    settings.HEARTBIT_MESSAGES_PER_MINUTE = 1
    assert [send_message(ada, "writer", "x").hops for _ in range(3)] == [0, 0, 0]


def test_two_agents_that_start_each_other_are_stopped(writes: Writes) -> None:
    sender, hops = writes("writer"), []
    with pytest.raises(
        MessageLimitReachedError, match="9 messages in a row led to this one, and the limit is 8"
    ):
        for turn in range(20):
            sent = start_agent(sender, ("analyst", "writer")[turn % 2], "Your turn.")
            hops.append(sent.hops)
            sender = in_run(sent.run_id)
    assert hops == list(range(9))
    assert Run.objects.filter(workspace=sender.workspace).count() == 10


def test_a_run_that_works_for_another_inherits_what_led_to_that(writes: Writes) -> None:
    sent = start_agent(writes("writer"), "analyst", "Go.")
    above = in_run(sent.run_id).run
    child = writes("researcher").run
    assert child is not None
    Run.objects.filter(pk=child.pk).update(parent=above, root=above)
    told = send_message(in_run(child.pk), "orchestrator", "Done.")
    assert (told.hops, told.recipient) == (1, "agent:analyst"), "its orchestrator, whoever that is"


def test_replies_to_replies_are_stopped(writes: Writes, settings: Settings) -> None:
    settings.HEARTBIT_MAX_MESSAGE_HOPS = 3
    one, two = writes("writer"), writes("analyst")
    sent = send_message(one, "analyst", "Ping.")
    with pytest.raises(MessageLimitReachedError, match="4 messages in a row"):
        for turn in range(20):
            sent = reply_to_message((two, one)[turn % 2], str(sent.pk), "Pong.")
    assert (sent.hops, sent.seq) == (3, 4), "on one thread, in its order"


def test_a_person_breaks_the_chain(ada: Sender, writes: Writes, settings: Settings) -> None:
    settings.HEARTBIT_MAX_MESSAGE_HOPS = 0
    sent = send_message(writes("writer"), "analyst", "Ping.")
    assert reply_to_message(ada, str(sent.pk), "Stop it.").hops == 0


def test_what_is_old_is_forgotten(workspace: Workspace, ada: Sender) -> None:
    def written(days: float) -> Message:
        message = Message.objects.create(
            workspace=workspace,
            sender="person:ada",
            recipient="broadcast",
            kind="notification",
            thread=f"{days}",
            seq=1,
            body="x",
            created_at=timezone.now() - timedelta(days=days),
        )
        agents = workspace.agents.order_by("name")[:2]
        InboxEntry.objects.bulk_create(InboxEntry(message=message, agent=one) for one in agents)
        return message

    old, young = written(MESSAGES_KEPT.days + 0.1), written(MESSAGES_KEPT.days - 0.1)
    assert prune_messages() >= 1
    assert not Message.objects.filter(pk=old.pk).exists()
    assert young.entries.count() == 2
