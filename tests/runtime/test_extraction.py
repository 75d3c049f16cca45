"""Memories that a run leaves behind: extracted once, by a follow-up run that delays nothing."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.fork_run import Edits
from agents.actions.publish_agent import publish_agent
from agents.actions.run_request import start_conversation
from agents.choices import Placement, RunKind, RunStatus
from agents.live.follow import wait_for_end
from agents.models import (
    Agent,
    LearnedMemory,
    MemoryExtraction,
    RecalledMemory,
    Run,
    RunEvent,
    ToolCall,
)
from agents.runs.archive import tree_lines
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.query import fetch_one
from memory.actions.erase import erase_memories
from memory.actions.memories import forget, supersede
from memory.history import Author
from memory.models import MemoryChange, MemoryItem
from tests.fleet import Worker, wait_until
from tests.kinds import dying
from tests.kinds.dying import AFTER_COMMIT, BEFORE_COMMIT, FOLDER
from tests.runtime.extraction import Create, follow, items, person, proposal, say, saying, tell
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio


async def test_what_a_person_said_is_remembered_for_them_with_run_and_turn(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(extract_memories=True))
    ann = await orm.run_in_thread(person)
    task = saying(
        "I moved to Bonn.", proposal("Ann lives in Bonn.", "I moved to Bonn", importance=7)
    )
    done = await say(studio, ann, task)
    assert done.status == RunStatus.SUCCEEDED, done.error
    assert done.kind == RunKind.EXTRACTION
    assert (done.output, done.queue) == ("Added 1 memory.", "memory")
    assert done.input_tokens > 0, "it costs what it costs"

    def check() -> None:
        assert done.priority < done.extraction.source.priority
        assert done.pk.version == 7
        assert done.pk > done.extraction.source_id
        item = MemoryItem.objects.get(workspace=studio.workspace)
        assert (item.text, item.scope, item.user, item.importance) == (
            *("Ann lives in Bonn.", "person"),
            *(ann, 7),
        )
        link = LearnedMemory.objects.get(item=item)
        assert (link.run, link.turn, link.replaced) == (done.extraction.source, 1, False)
        types = list(done.events.values_list("type", flat=True))
        assert types == [
            *("run.created", "run.started", "model.answered", "memories.extracted"),
            *("tool.finished", "run.succeeded"),
        ]

    await orm.run_in_thread(check)


async def test_what_is_known_is_not_stored_again_and_a_contradiction_supersedes(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(extract_memories=True))
    ann = await orm.run_in_thread(person)
    bonn = proposal("Ann lives in Bonn.", "I live in Bonn")
    await say(studio, ann, saying("I live in Bonn.", bonn))
    same = {**bonn, "text": "ann lives in  Bonn!"}
    again = await say(studio, ann, saying("I live in Bonn, as I said.", bonn, same))
    assert again.output == "Found nothing new to remember."
    [item] = await items(studio)
    contrary = proposal("Ann lives not in Bonn.", "not", replaces=item.pk)
    done = await say(studio, ann, saying("I am not from Bonn.", contrary))
    assert done.output == "Replaced 1 memory.", "one word makes the contrary"
    tongues = [proposal(f"Ann writes {one}.", "C++ and C#") for one in ("C++", "C#")]
    done = await say(studio, ann, saying("I write C++ and C#.", *tongues))
    assert done.output == "Added 2 memories."

    moved = proposal(
        "Ann lives in Oslo since May 2026.",
        "I've lived in  OSLO since May",
        replaces=item.pk,
        reason="moved in May",
    )
    done = await say(studio, ann, saying("I've lived in Oslo since May.", moved))
    assert done.output == "Replaced 1 memory."

    def check() -> None:
        item.refresh_from_db()
        assert item.text == "Ann lives in Oslo since May 2026."
        last = item.changes.first()
        assert last is not None
        assert last.before is not None
        assert (last.kind, last.reason) == ("superseded", "moved in May")
        assert last.before["text"] == "Ann lives not in Bonn."
        assert last.run_id == done.extraction.source_id
        assert list(item.learned_in.values_list("replaced", flat=True)) == [False, True, True]

    await orm.run_in_thread(check)


async def test_what_was_said_earlier_does_not_replace_what_is_newer(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(extract_memories=True))
    ann = await orm.run_in_thread(person)
    await say(studio, ann, saying("I live in Bonn.", proposal("Ann lives in Bonn.", "in Bonn")))
    [item] = await items(studio)
    to_oslo = proposal("Ann lives in Oslo.", "I moved to Oslo", replaces=item.pk)
    to_rome = proposal("Ann lives in Rome.", "I moved to Rome", replaces=item.pk)
    oslo = await tell(studio, ann, saying("I moved to Oslo.", to_oslo))
    rome = await tell(studio, ann, saying("I moved to Rome.", to_rome))
    assert (await follow(studio, rome)).output == "Replaced 1 memory."
    assert (await follow(studio, oslo)).output == "Found nothing new to remember."

    lima = await tell(studio, ann, saying("I moved to Lima.", {**to_oslo, "quote": "to Lima"}))
    text = "Ann lives in Paris."
    await orm.run_in_thread(lambda: supersede(item, by=Author(SYSTEM), text=text))
    assert (await follow(studio, lima)).output == "Found nothing new to remember."
    assert [one.text for one in await items(studio)] == [text], "a person said so since"

    await say(studio, ann, saying("I like tea.", proposal("Ann likes tea.", "I like tea")))
    both = [proposal("Ann likes tea.", "I like tea"), proposal("Ann likes rum.", "and rum")]
    late = await tell(studio, ann, saying("I like tea and rum.", *both))
    newest = (await items(studio))[-1]
    await orm.run_in_thread(lambda: forget(newest, by=Author(SYSTEM)))
    assert (await follow(studio, late)).output == "Added 1 memory."
    assert [one.text for one in await items(studio) if not one.forgotten_at] == [
        text,
        "Ann likes rum.",
    ], "what was forgotten since stays so, and nothing else does"
    await say(studio, ann, saying("I like tea.", proposal("Ann likes tea.", "I like tea")))
    assert (await items(studio))[-1].text == "Ann likes tea.", "it was said again afterwards"


async def test_memories_belong_to_the_person_else_the_conversation_else_the_agent(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(extract_memories=True))
    ann, bob = await orm.run_in_thread(lambda: (person(), person("ann")))
    await say(studio, bob, saying("I like tea.", proposal("Ann likes tea.", "I like tea")))
    [of_bob] = await items(studio)
    coffee = proposal("Ann likes coffee.", "I like coffee", replaces=of_bob.pk)
    await say(studio, ann, saying("I like coffee.", coffee))
    await say(studio, None, saying("We open at 9.", proposal("It opens at 9.", "open at 9")))
    talk = await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))
    room = saying("The code is 7.", proposal("The code is 7.", "code is 7"))
    posted = await orm.run_in_thread(
        lambda: post_message(talk, room, model="openai:fake", home=Placement.LOCAL)
    )
    studio.host.execute(posted.run_id)
    await follow(studio, await wait_for_end(posted.run_id, studio.host.window))
    found = [(one.text, one.scope, one.user_id, one.conversation_id) for one in await items(studio)]
    assert found == [
        ("Ann likes tea.", "person", bob.pk, None),
        ("Ann likes coffee.", "person", ann.pk, None),
        ("It opens at 9.", "agent", None, None),
        ("The code is 7.", "conversation", None, talk.pk),
    ], "of two people of one name, each has their own"


async def test_no_follow_up_without_the_setting_or_of_failed_forked_private_and_sub_agents_runs(
    studio: Studio, agent: Create
) -> None:
    def team() -> None:
        agent("plain")
        helper = agent("helper", extract_memories=True)
        boss = agent("boss", extract_memories=True)
        boss.team.add(helper)
        publish_agent(boss)

    await orm.run_in_thread(team)
    await studio.run("hello", agent="plain")
    failed = await studio.run("[[error: 400]]", agent="helper")
    assert failed.status == RunStatus.FAILED
    order = json.dumps({"agent": "helper", "task": "hello"})
    led = await studio.run(f"[[delegate: {order}]] [[text: Done.]]", agent="boss")
    edits = Edits(message="More. [[text: x]]")
    forked = await orm.run_in_thread(
        lambda: fork_run(led, led.children.count() + 1, edits=edits, home=Placement.LOCAL)
    )
    studio.host.execute(forked)
    await wait_for_end(forked, studio.host.window)
    owner = await orm.run_in_thread(person)
    talk = await orm.run_in_thread(
        lambda: start_conversation(studio.workspace, agent="boss", private_to=owner.pk)
    )
    private = await orm.run_in_thread(
        lambda: post_message(
            talk, f"[[delegate: {order}]] [[text: x]]", model="openai:fake", home=Placement.LOCAL
        )
    )
    studio.host.execute(private.run_id)
    await wait_for_end(private.run_id, studio.host.window)
    tree = Run.objects.filter(root=private.run_id).values_list("private_to", flat=True)
    assert await orm.run_in_thread(lambda: list(tree)) == [owner.pk, owner.pk]
    rows = Run.objects.filter(workspace=studio.workspace, kind=RunKind.EXTRACTION)
    sources = rows.values_list("extraction__source", flat=True)
    assert await orm.run_in_thread(lambda: list(sources)) == [led.pk]


async def test_a_cheaper_model_extracts_and_a_failed_extraction_can_be_retried(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(
        lambda: agent(extract_memories=True, extraction_model="anthropic:small", max_retries=0)
    )
    ann = await orm.run_in_thread(person)
    told = saying("I live in Bonn.", proposal("Ann lives in Bonn.", "I live in Bonn"))
    failed = await say(studio, ann, told)
    assert failed.status == RunStatus.FAILED
    assert "anthropic" in str(failed.error)

    def retry() -> UUID:
        row = Agent.objects.get(workspace=studio.workspace, name="solo")
        row.extraction_model = "openai:small"
        row.save()
        version = publish_agent(row)
        edits = Edits(version=version.number)
        return fork_run(failed, 0, edits=edits, by=Actor("boss", "user"), home=Placement.LOCAL)

    again = await orm.run_in_thread(retry)
    studio.host.execute(again)
    done = await wait_for_end(again, studio.host.window)
    assert (done.kind, done.output, done.queue) == ("extraction", "Added 1 memory.", "memory")
    answers = done.events.filter(type="model.answered").values_list("payload__model", flat=True)
    assert await orm.run_in_thread(lambda: list(answers)) == ["openai:small"]
    [item] = await items(studio)
    assert item.user_id == ann.pk, "it belongs to the person, not to the one who retried"


async def test_a_source_that_was_archived_takes_its_links_along_and_leaves_its_memories(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(extract_memories=True))
    ann = await orm.run_in_thread(person)
    told = saying("I live in Bonn.", proposal("Ann lives in Bonn.", "I live in Bonn"))
    done = await say(studio, ann, told)
    late = await tell(studio, ann, told)

    def forget_tree(run: Run) -> None:
        before = datetime.now(UTC) + timedelta(hours=1)
        values = [[run.pk], 1, run.last_seq, before]
        assert fetch_one("SELECT heartbit_forget(%s::uuid[], %s, %s, %s)", values) == (True,)

    waiting = await orm.run_in_thread(lambda: late.follow_up.run)
    await orm.run_in_thread(lambda: forget_tree(done.extraction.source))
    await orm.run_in_thread(lambda: forget_tree(late))
    assert [one.text for one in await items(studio)] == ["Ann lives in Bonn."]
    await orm.run_in_thread(lambda: Run.objects.filter(pk=waiting.pk).update(home="local"))
    studio.host.execute(waiting.pk)
    failed = await wait_for_end(waiting.pk, studio.host.window)
    assert failed.status == RunStatus.FAILED
    assert "was deleted" in str(failed.error)
    await orm.run_in_thread(lambda: forget_tree(done))


async def test_erasing_a_person_leaves_no_word_of_what_extraction_wrote(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(extract_memories=True))
    ann = await orm.run_in_thread(person)
    canary = f"canary-{secrets.token_hex(6)}"  # other tests keep theirs in the same tables
    told = saying("I live in Bonn.", proposal(f"Ann lives in {canary}.", "I live in Bonn"))
    done = await say(studio, ann, told)
    await tell(studio, ann, told)  # its follow-up has not begun

    def left() -> list[str]:
        assert canary in str(list(RunEvent.objects.filter(run=done).values("payload")))
        assert canary not in "".join(tree_lines([done.pk])), "its archive has no answers"
        assert erase_memories(studio.workspace, ann, by=SYSTEM) == 1
        runs = Run.objects.filter(workspace=studio.workspace)
        assert not runs.filter(kind=RunKind.EXTRACTION).exists(), "none stores it later"
        tables = (MemoryItem, MemoryChange, LearnedMemory, MemoryExtraction)
        rows: list[Any] = [row for table in tables for row in table.objects.values()]
        rows += RunEvent.objects.filter(run=done).values()
        rows += ToolCall.objects.filter(run=done).values()
        return [str(row) for row in rows if canary in str(row)]

    assert await orm.run_in_thread(left) == []


@pytest.mark.usefixtures("database")
def test_given_workers_that_die_at_every_step_then_memories_are_stored_once(
    workspace: Workspace, wire_server: WireServer, tmp_path: Path
) -> None:
    queue, key = f"memory-{secrets.token_hex(4)}", secrets.token_hex(4)
    row = Agent.objects.create(
        workspace=workspace, name="solo", system_prompt="x", extract_memories=True, queue=queue
    )
    publish_agent(row)
    told = saying(
        f"I live in Bonn. [[run: {key}]] [[extract_latency: 600]]",
        proposal("Ann lives in Bonn.", "I live in Bonn"),
    )
    for moment in (BEFORE_COMMIT, AFTER_COMMIT):
        (tmp_path / moment).touch()
    environment = {
        "HEARTBIT_LEASE_SECONDS": "2",
        "HEARTBIT_EXTRA_APPS": dying.__package__ or "",
        FOLDER: str(tmp_path),
    }

    def asked() -> dict[str, int]:
        turns: dict[str, int] = wire_server.stats()["runs"].get(f"{key}-memories", {})
        return turns

    run_id = start_run(workspace, told, agent="solo", model="openai:fake")
    run = Run.objects.get(pk=run_id)
    follow_up = Run.objects.filter(extraction__source=run)
    with Worker(queues=queue, environment=environment):
        wait_until(follow_up.exists)
        run.refresh_from_db()
        assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Noted."), "it waited for nothing"
    assert follow_up.get().queue == "memory"
    follow_up.update(queue=queue)  # where no run of another test dies in its stead
    with Worker(queues=queue, environment=environment) as first:
        wait_until(asked)
        first.kill()
    for moment in (BEFORE_COMMIT, AFTER_COMMIT):
        with Worker(queues=queue, environment=environment) as dead:
            wait_until(partial(_is_gone, tmp_path / moment))
            dead.kill()
    with Worker(queues=queue, environment=environment):
        wait_until(lambda: follow_up.filter(status="succeeded").exists())
    done = follow_up.get()
    types = list(done.events.values_list("type", flat=True))
    assert [types.count(one) for one in ("model.answered", "memories.extracted")] == [1, 1]
    assert asked()["requests"] == 2, "only the answer that was cut off was asked for again"
    found = MemoryItem.objects.filter(workspace=workspace).values_list("text", flat=True)
    assert list(found) == ["Ann lives in Bonn."]
    assert LearnedMemory.objects.filter(run=run).count() == 1
    assert Run.objects.filter(workspace=workspace).count() == 2


def _is_gone(path: Path) -> bool:
    return not path.exists()


async def test_one_switch_lets_an_agent_remember(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(memory=True))
    ann = await orm.run_in_thread(person)
    task = saying("I moved to Bonn.", proposal("Ann lives in Bonn.", "I moved to Bonn"))
    done = await say(studio, ann, task)
    assert done.output == "Added 1 memory."
    later = await say(studio, ann, saying("Where do I live, in Bonn?"))

    def recalled() -> list[str]:
        rows = RecalledMemory.objects.filter(run=later.extraction.source)
        return [row.item.text for row in rows if row.item is not None]

    assert await orm.run_in_thread(recalled) == ["Ann lives in Bonn."]
