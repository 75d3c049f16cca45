"""An inbox is read in order and once; a reply finds the very run that it is for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from django.db import transaction

from agents.actions.decide_call import answer_call
from agents.actions.inbox import read_inbox, reply_to_message, steer_with_reply
from agents.actions.runs import cancel_run
from agents.actions.send_message import send_message
from agents.choices import RunStatus
from agents.errors import RecipientError, UnknownMessageError
from agents.journal.events import RunSteered
from agents.live.follow import wait_for_end
from agents.messaging.addresses import sender_of_person
from agents.messaging.limits import MOST_CHARACTERS, MOST_OF_AN_ENTRY
from agents.models import Agent, Message, Run, RunEvent, ToolCall
from agents.reads.agents import definition_of
from agents.runtime.toolset.offer import offered_tools
from agents.runtime.toolset.unread import with_unread_count
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.operations.turn_views import describe_turn
from tests.admin import rows
from tests.fleet import wait_until
from tests.messaging.conftest import ALL, Writes, inbox
from tests.runs.holding import pool
from tests.runtime.deciding import ANNA, waiting
from tools.calls.result import answer, to_text
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from agents.messaging.addresses import Sender
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

__all__ = ["pool"]  # a fixture

Create = Callable[..., Agent]


def run_of(sender: Sender) -> Run:
    assert sender.run is not None
    return sender.run


def texts(messages: tuple[dict[str, object], ...]) -> list[object]:
    return [message["text"] for message in messages]


async def test_an_agent_reads_what_it_was_sent_once(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: [agent(name, tools=ALL) for name in ("one", "two")])
    for text in ("First.", "Second."):
        call = json.dumps({"to": "two", "text": text, "thread": "plan"})
        await studio.run(f"[[calls: send_message {call}]]", agent="one")
    run = await studio.run("[[calls: read_messages {}]] [[rounds: 2]]", agent="two")
    calls = await orm.run_in_thread(lambda: list(ToolCall.objects.filter(run=run).order_by("id")))
    read = json.loads(calls[0].result or "")
    assert [(one["from"], one["thread"], one["number"]) for one in read["messages"]] == [
        *(("agent:one", "plan", 1), ("agent:one", "plan", 2)),
    ]
    assert (texts(tuple(read["messages"])), read["unread"]) == (["First.", "Second."], 0)
    assert (calls[0].effect, "is empty" in (calls[1].result or "")) == ("transactional", True)
    entries = await orm.run_in_thread(lambda: inbox(studio.workspace, "two"))
    assert {entry.run_id for entry in entries} == {run.pk}


def test_what_was_not_kept_stays_unread(ada: Sender, writes: Writes) -> None:
    for number in range(3):
        send_message(ada, "writer", f"{number}")
    reader = run_of(writes("writer"))
    with pytest.raises(RuntimeError), transaction.atomic():
        read_inbox(reader, limit=10)
        raise RuntimeError
    read = read_inbox(reader, limit=2)
    assert (texts(read.messages), read.unread) == (["0", "1"], 1)


def test_no_more_is_read_than_a_result_may_hold(
    ada: Sender, writes: Writes, agent: Create, unserved: Workspace
) -> None:
    agent("terse", tools=ALL, max_tool_output_bytes=2_000, queue="nobody-serves-this")
    for length in (700, 700, 700, 5_000):
        send_message(ada, "terse", "ü" * (length // 2))
    reader = run_of(writes("terse"))
    found = [read_inbox(reader, limit=50) for _ in range(4)]
    assert [(len(read.messages), read.unread) for read in found] == [(2, 2), (1, 1), (1, 0), (0, 0)]


@pytest.mark.parametrize(
    "text",
    ["я" * 19_994, "💡" * 19_994, '"' * 19_994, "\x01" * 6_000],
    ids=["cyrillic", "emoji", "quotes", "control"],
)
def test_what_could_not_be_read_whole_is_not_sent(
    ada: Sender, writes: Writes, unserved: Workspace, text: str
) -> None:
    with pytest.raises(RecipientError, match=r"bytes in an inbox, and the limit is 30,000"):
        send_message(ada, "writer", text)
    assert inbox(unserved, "writer") == []


@pytest.mark.parametrize("letter", ["x", "я", "💡", '"', "\x01"])
def test_the_longest_message_is_read_whole_with_all_that_is_said_of_it(
    unserved: Workspace, writes: Writes, letter: str
) -> None:
    far = sender_of_person(unserved, Actor("💡" * 200, "terminal"))
    asks = writes("writer")
    asked = send_message(asks, "analyst", "Which?")
    cancel_run(unserved, run_of(asks).pk, reason="over")  # the reply is for the next one
    size = len(json.dumps(letter, ensure_ascii=False).encode()) - 2
    text = letter * min(MOST_CHARACTERS, (MOST_OF_AN_ENTRY - 2) // size)
    send_message(far, "writer", text, thread='"' * 100)
    reply_to_message(writes("analyst"), str(asked.pk), text)
    reader = run_of(writes("writer"))
    for unread in (1, 0):
        read = read_inbox(reader, limit=50)
        assert (texts(read.messages), read.unread) == ([text], unread), "one at a time"
        value = {"messages": list(read.messages), "unread": read.unread}
        shown = answer(to_text(value), "ok", 32_768)
        assert "[cut: " not in shown.content
        assert json.loads(shown.content) == value


def test_runs_that_read_at_once_get_each_message_once_and_in_order(
    unserved: Workspace, ada: Sender, writes: Writes, threads: ThreadPoolExecutor
) -> None:
    for number in range(40):
        send_message(ada, "writer", f"{number}", thread="one")
    readers = [run_of(writes("writer")) for _ in range(8)]
    found = list(threads.map(lambda run: read_inbox(run, limit=5).messages, readers))
    numbers = [[message["number"] for message in messages] for messages in found]
    assert all(mine == list(range(mine[0], mine[0] + 5)) for mine in numbers), "without gaps"
    assert sorted(number for mine in numbers for number in mine) == list(range(1, 41))


def test_a_run_that_reads_waits_for_one_whose_reading_may_be_undone(
    ada: Sender, writes: Writes, threads: ThreadPoolExecutor
) -> None:
    for number in range(4):
        send_message(ada, "writer", f"{number}", thread="one")
    first, second = run_of(writes("writer")), run_of(writes("writer"))
    pids: list[int] = []
    enough = threading.Event()
    blocks = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"

    def read_in_vain() -> None:
        with suppress(RuntimeError), transaction.atomic():
            read_inbox(first, limit=2)
            pids.append(rows.sql("SELECT pg_backend_pid() AS pid")["pid"])
            enough.wait(20)
            raise RuntimeError

    threads.submit(read_in_vain)
    wait_until(lambda: pids)
    reading = threads.submit(lambda: read_inbox(second, limit=2))
    wait_until(lambda: rows.sql(blocks, pids[0])["count"], what="the second run waits")
    enough.set()
    assert texts(reading.result().messages) == ["0", "1"]


async def test_a_reply_is_told_to_the_run_that_waits_for_it_to_be_said(
    studio: Studio, agent: Create, ada: Sender
) -> None:
    await orm.run_in_thread(lambda: agent("one", tools=(*ALL, "ask_human")))
    call = json.dumps({"to": "writer", "text": "Any news?"})
    run_id = await studio.start(
        f'[[calls: send_message {call}]] [[then: ask_human {{"question": "Wait?"}}]]', agent="one"
    )
    [asked] = await waiting(studio, run_id)
    sent = await orm.run_in_thread(lambda: Message.objects.get(source_run_id=run_id))
    reply = await orm.run_in_thread(
        lambda: reply_to_message(ada, str(sent.pk), "Yes! [[text: Good news.]]")
    )
    assert (reply.kind, reply.thread, reply.seq) == ("reply", sent.thread, 2)
    await orm.run_in_thread(
        lambda: answer_call(asked, digest=asked.digest, answer="Go on.", by=ANNA)
    )
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Good news.")
    [told] = [event for event in await studio.events(run) if event.type == RunSteered.type]
    assert told.payload["by"] == "person:ada"
    assert told.payload["text"].startswith(f"Reply from person:ada to your message {sent.pk}")
    [entry] = await orm.run_in_thread(lambda: inbox(studio.workspace, "one"))
    assert entry.run_id == run_id, "it is out of the inbox"


def test_a_reply_to_a_run_that_has_ended_stays_for_the_next_one(
    unserved: Workspace, writes: Writes
) -> None:
    writer, analyst = writes("writer"), writes("analyst")
    sent = send_message(writer, "analyst", "Any news?")
    cancel_run(unserved, run_of(writer).pk, reason="over")
    reply = reply_to_message(analyst, str(sent.pk), "Yes.")
    [entry] = inbox(unserved, "writer")
    assert (entry.message_id, entry.read_at) == (reply.pk, None)
    read = read_inbox(run_of(writes("writer")), limit=1)
    assert [one["in_reply_to"] for one in read.messages] == [str(sent.pk)]


def test_a_reply_is_told_once(writes: Writes) -> None:
    writer, analyst = writes("writer"), writes("analyst")
    sent = send_message(writer, "analyst", "Any news?")
    reply = reply_to_message(analyst, str(sent.pk), "Yes.")
    assert steer_with_reply(reply.pk) is False, "its own commit has told it"
    steers = RunEvent.objects.filter(run=run_of(writer), type=RunSteered.type)
    assert steers.count() == 1


def test_only_what_one_was_sent_is_answered(ada: Sender, writes: Writes) -> None:
    writer, analyst = writes("writer"), writes("analyst")
    sent = send_message(writer, "analyst", "Between us.")
    with pytest.raises(UnknownMessageError):
        reply_to_message(writes("researcher"), str(sent.pk), "I heard.")
    with pytest.raises(UnknownMessageError):
        reply_to_message(analyst, "not-an-id", "x")
    with pytest.raises(UnknownMessageError):
        reply_to_message(writer, str(sent.pk), "To myself.")
    mine = send_message(ada, "writer", "Hello.")
    with pytest.raises(RecipientError, match="yourself"):
        reply_to_message(ada, str(mine.pk), "Hello, me.")
    answer = reply_to_message(writer, str(mine.pk), "Hello, Ada.")
    assert (answer.recipient, answer.entries.count()) == ("person:ada", 0)


def test_a_broadcast_is_answered_to_whoever_made_it(unserved: Workspace, writes: Writes) -> None:
    sent = send_message(writes("writer"), "broadcast", "Who has time?")
    reply = reply_to_message(writes("analyst"), str(sent.pk), "I have.")
    assert reply.recipient == "agent:writer"


async def test_an_agent_that_can_read_is_told_how_much_is_unread(
    pool: Pool, agent: Create, unserved: Workspace, ada: Sender
) -> None:
    await orm.run_in_thread(lambda: agent("reader", tools=("read_messages", "calculate")))
    row = await orm.run_in_thread(
        lambda: Agent.objects.select_related("current_version").get(
            workspace=unserved, name="reader"
        )
    )
    version = row.current_version
    assert version is not None
    definition = await orm.run_in_thread(lambda: definition_of(version))
    offer = offered_tools(definition, registry, is_child=False, has_parent=False)
    assert await with_unread_count(pool, row.pk, offer) == offer, "an empty inbox changes nothing"
    await orm.run_in_thread(lambda: [send_message(ada, "reader", "x") for _ in range(2)])
    told = await with_unread_count(pool, row.pk, offer)
    assert told.specs["read_messages"].description.endswith(" 2 messages are unread.")
    assert (told.hashes, told.specs["calculate"]) == (offer.hashes, offer.specs["calculate"])


async def test_a_past_turn_shows_how_much_was_unread_then(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: [agent(name, tools=ALL) for name in ("one", "two")])
    for text in ("First.", "Second."):
        call = json.dumps({"to": "two", "text": text})
        await studio.run(f"[[calls: send_message {call}]]", agent="one")
    read = [
        await studio.run("[[calls: read_messages {}]] [[text: Done.]]", agent="two")
        for _ in range(2)
    ]
    await studio.run(f"[[calls: send_message {call}]]", agent="one")  # the last one is unread

    def told(run: Run, turn: int) -> str:
        tools = describe_turn(run, turn).request.tools
        [found] = [tool.description for tool in tools if tool.name == "read_messages"]
        return found.rpartition(". ")[2]

    shown = await orm.run_in_thread(lambda: [told(run, turn) for run in read for turn in (1, 2)])
    assert shown[:2] == ["2 messages are unread."] * 2, "as the slice began"
    assert not [text for text in shown[2:] if "unread" in text]
