"""Runs with a follow-up that extracts what their task says, for tests."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User

from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from memory.models import MemoryItem
from tests.starts import start_run

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


def saying(text: str, *memories: dict[str, Any]) -> str:
    """Return a task whose follow-up is answered with these memories.

    Their quotes are escaped: the directive is part of what is said, and must not contain them.
    """
    given = [{**one, "quote": f"<{number}>"} for number, one in enumerate(memories)]
    answer = json.dumps({"memories": given})
    for number, one in enumerate(memories):
        escaped = "".join(f"\\u{ord(character):04x}" for character in one["quote"])
        answer = answer.replace(f"<{number}>", escaped)
    return f"{text} [[text: Noted.]] [[extract: {answer} ]]"


def proposal(text: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "category": "fact", "importance": 5, "line": 1, "quote": quote, **more}


def person(name: str = "ann") -> User:
    return User.objects.create(username=f"{name}-{secrets.token_hex(4)}")


async def tell(studio: Studio, who: User | None, task: str) -> Run:
    """Execute a run in this process."""
    by = Actor(who.username, "user", who.pk) if who else Actor("", "api")

    def start() -> Any:
        return start_run(
            studio.workspace, task, agent="solo", model="openai:fake", home=Placement.LOCAL, by=by
        )

    run_id = await orm.run_in_thread(start)
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED, run.error
    return run


async def say(studio: Studio, who: User | None, task: str) -> Run:
    """Execute a run, and then its follow-up; return the follow-up."""
    return await follow(studio, await tell(studio, who, task))


async def follow(studio: Studio, run: Run) -> Run:
    """Execute a run's follow-up in this process, as no worker of the tests' fleet may have it."""

    def take() -> Any:
        rows = Run.objects.filter(extraction__source=run)
        rows.update(home=Placement.LOCAL)
        return rows.get().pk

    run_id = await orm.run_in_thread(take)
    studio.host.execute(run_id)
    return await wait_for_end(run_id, studio.host.window)


async def items(studio: Studio) -> list[MemoryItem]:
    rows = MemoryItem.objects.filter(workspace=studio.workspace).order_by("pk")
    return await orm.run_in_thread(lambda: list(rows))
