"""Memories that a run leaves behind: extracted by a follow-up run, once, and never from outsiders."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User

from agents.actions.start_run import start_run
from agents.choices import Placement, RunKind, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent, LearnedMemory, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from memory.models import MemoryItem

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


def saying(text: str, *memories: dict[str, Any]) -> str:
    """Return a task whose follow-up is answered with these memories."""
    return f"{text} [[text: Noted.]] [[extract: {json.dumps({'memories': memories})} ]]"


def proposal(text: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "category": "fact", "importance": 5, "line": 1, "quote": quote, **more}


def person(name: str = "ann") -> User:
    return User.objects.create(username=f"{name}-{secrets.token_hex(4)}")


async def say(studio: Studio, who: User | None, task: str, **more: Any) -> Run:
    """Execute a run, and then its follow-up in this process; return the follow-up."""
    by = Actor(who.username, "user", who.pk) if who else Actor("", "api")

    def start() -> Any:
        return start_run(
            studio.workspace, task, agent="solo", model="openai:fake", home=Placement.LOCAL, by=by
        )

    run_id = await orm.run_in_thread(start)
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED, run.error
    return await follow(studio, run)


async def follow(studio: Studio, run: Run) -> Run:
    """Execute a run's follow-up in this process, as no worker of the tests' fleet may have it."""

    def take() -> Any:
        rows = Run.objects.filter(extraction__source=run)
        rows.update(home=Placement.LOCAL)
        return rows.get().pk

    run_id = await orm.run_in_thread(take)
    studio.host.execute(run_id)
    return await wait_for_end(run_id, studio.host.window)


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
