"""S22: of a person who is erased no table, stream or archive keeps a word."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from redis import Redis

from agents.actions.fork_run import Edits
from agents.actions.run_request import start_conversation
from agents.choices import Placement, RunStatus
from agents.housekeeping.archive_runs import archive_workspace, directory
from agents.live.follow import wait_for_end
from agents.live.valkey import stream_key
from agents.models import Conversation, Message, MessageKind, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.query import fetch_all, fetch_one
from memory.actions.erase import erase_person
from memory.models import MemoryItem
from tests.runtime.extraction import Create, follow, items, person, proposal, saying, tell
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from tests.runtime.conftest import Studio

TOOLS = ("remember", "recall", "update_memory", "blackboard_write", "state_set")
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"


def tables_with(canary: str) -> set[str]:
    """Return the tables with a row that has the canary, as text or in bytes."""
    found = set()
    for (table,) in fetch_all(_TABLES):
        like = [f"%{canary}%", f"%{canary.encode().hex()}%"]
        query = f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s OR t::text LIKE %s'  # noqa: S608  names of the database's own
        if fetch_one(query, like) != (0,):
            found.add(table)
    return found


def keys_with(canary: str) -> list[str]:
    """Return the keys of Valkey with the canary."""
    with Redis.from_url(settings.REDIS_URL) as valkey:
        keys = [key for key in valkey.scan_iter() if canary.encode() in (valkey.dump(key) or b"")]
    return [str(key) for key in keys]


def archived() -> str:
    """Return all that the archives say."""
    return "".join(gzip.open(path, "rt").read() for path in directory().glob("*.gz"))


async def test_erasing_a_person_with_runs_leaves_no_word_anywhere(
    studio: Studio,
    agent: Create,
    settings: Settings,
    tmp_path: Any,
    record_property: Callable[[str, object], None],
) -> None:
    settings.HEARTBIT_ARCHIVE_DIR = str(tmp_path)
    here, canary = studio.workspace, f"canary{secrets.token_hex(6)}"
    ann, bob = await orm.run_in_thread(lambda: (person(), person("bob")))

    def agents() -> None:
        agent("early", tools=TOOLS)
        agent(tools=TOOLS, memory_tokens=500, max_tool_output_bytes=500, extract_memories=True)

    await orm.run_in_thread(agents)
    in_thread: Callable[..., Any] = orm.run_in_thread

    async def ended(who: User, task: str, name: str = "early") -> Run:
        by = Actor(who.username, "user", who.pk)
        more: dict[str, Any] = {"agent": name, "model": "openai:fake", "home": Placement.LOCAL}
        run_id = await in_thread(lambda: start_run(here, task, by=by, **more))
        studio.host.execute(run_id)
        return await wait_for_end(run_id, studio.host.window)

    # Archived runs, of which one is not hers.
    told = json.dumps({"text": f"Ann lives in {canary}. " * 30})
    await ended(ann, f"I live there. [[calls: remember {told}]] [[then: recall {{}}]]")
    kept = await ended(bob, "I live in Bonn. [[text: Noted.]]")
    await in_thread(lambda: archive_workspace(here, days=0))
    assert canary in archived()

    # What tools were given and returned, what is recalled at a start, a result that is too long.
    noted = json.dumps({"key": "k", "value": canary})
    shared = f"blackboard_write {noted}, state_set {noted}"
    call = f"[[calls: remember {told}]] [[then: recall {{}}, {shared}]]"
    first = await tell(studio, ann, call)
    said = saying(f"I live in {canary}.", proposal(f"Ann is at {canary}.", "I live in"))
    await follow(studio, await tell(studio, ann, said))
    changed = json.dumps({"id": (await items(studio))[1].pk, "text": f"Not in {canary}."})
    await tell(studio, ann, f"Change it. [[calls: update_memory {changed}]]")

    # What others made of it: a fork, the conversation, a message; and a run that is live.
    fork = partial(fork_run, first, 1, edits=Edits(message="Go on. [[text: x]]"))
    forked = await in_thread(partial(fork, by=SYSTEM, home=Placement.LOCAL))
    studio.host.execute(forked)
    await wait_for_end(forked, studio.host.window)
    talk = await in_thread(lambda: start_conversation(here, agent="solo", title=canary))
    for who in (ann, bob):
        by = Actor(who.username, "user", who.pk)
        post = partial(post_message, talk, f"Hi {canary}. [[text: x]]", model="openai:fake", by=by)
        posted = await in_thread(partial(post, home=Placement.LOCAL))
        studio.host.execute(posted.run_id)
        await wait_for_end(posted.run_id, studio.host.window)

    def live() -> UUID:
        Message.objects.create(
            workspace=here, sender="agent:solo", recipient="agent:early", seq=1, body=canary,
            kind=MessageKind.NOTIFICATION, thread=str(first.pk), source_run_id=first.pk,
        )  # fmt: skip
        by = Actor(ann.username, "user", ann.pk)
        task = f"{canary} [[text: {canary}]] [[latency: 1500]]"
        more: dict[str, Any] = {"model": "openai:fake", "home": Placement.LOCAL}
        waiting: UUID = start_run(here, task, agent="solo", by=by, **more)
        with Redis.from_url(settings.REDIS_URL) as valkey:
            valkey.xadd(stream_key(waiting), {"text": canary})
        return waiting

    waiting = await in_thread(live)
    studio.host.execute(waiting)
    running = Run.objects.filter(pk=waiting, status=RunStatus.RUNNING)
    while not await in_thread(running.exists):
        await asyncio.sleep(0.05)
    before = await in_thread(lambda: tables_with(canary))
    assert before >= {
        *("agents_run", "agents_runevent", "agents_toolcall", "agents_artifact"),
        *("agents_recalledmemory", "agents_message", "agents_conversation"),
        *("memory_memoryitem", "memory_memorychange"),
    }
    assert keys_with(canary)

    def erased() -> None:
        done = erase_person(here, ann, by=SYSTEM)
        assert done.memories == 3
        assert done.runs >= 8

    await in_thread(erased)
    await asyncio.sleep(2)  # the live run's model has answered since
    left = await in_thread(lambda: tables_with(canary))
    record_property("note:places_with_canaries", len(before) + 2)
    record_property("figure:canaries_left", len(left) + len(keys_with(canary)))
    assert (left, keys_with(canary), canary in archived()) == (set(), [], False)

    def rest() -> None:
        assert str(kept.pk) in archived()
        assert not MemoryItem.objects.filter(workspace=here).exists()
        assert not Conversation.objects.filter(workspace=here).exists()
        assert not Run.objects.filter(workspace=here).exists()
        entries = AuditEntry.objects.filter(workspace=here, target=f"user:{ann.pk}")
        assert [(one.action, one.details) for one in entries.order_by("pk")] == [
            ("person.erase", {}),
            ("memory.erase", {}),
        ]
        with Redis.from_url(settings.REDIS_URL) as valkey:
            assert valkey.type(stream_key(waiting)) == b"string", "a worker cannot append to it"

    await in_thread(rest)
