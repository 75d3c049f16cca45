"""Behaviours that Heartbit's memories in PostgreSQL share with those in a program's process."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from agents.choices import RunStatus
from agents.models import RecalledMemory, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from memory.actions.erase import erase_memories
from memory.providers import calls
from tests.runtime.extraction import Create, person, proposal, say, saying, tell

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from tests.runtime.conftest import Studio

SETTINGS = {"memory_tokens": 500, "extract_memories": True}
TEA = "I drink green tea."
BIKE = "I repair my bicycle myself."


@pytest.fixture(params=["", calls.IN_PROCESS], ids=["postgres", "in-process"])
def store(request: pytest.FixtureRequest, settings: Settings) -> None:
    """Where memories are."""
    settings.HEARTBIT_MEMORY_PROVIDER = request.param
    calls._load.cache_clear()


pytestmark = pytest.mark.usefixtures("store")


async def says(studio: Studio, who: User | None, *texts: str) -> None:
    for text in texts:
        done = await say(studio, who, saying(text, proposal(text, text[:-1])))
        assert done.status == RunStatus.SUCCEEDED, done.error


async def given(studio: Studio, who: User | None, task: str) -> list[str]:
    """Return the texts that a run is given, without the directives of the fake model."""
    run = await tell(studio, who, task)

    def read() -> list[str]:
        Run.objects.filter(extraction__source=run).delete()
        rows = RecalledMemory.objects.filter(run=run).order_by("position")
        return [text.partition(" [[")[0] for text in rows.values_list("text", flat=True)]

    return await orm.run_in_thread(read)


async def test_a_later_run_is_given_what_its_person_said_once_and_by_its_words(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(**SETTINGS))
    ann = await orm.run_in_thread(person)
    await says(studio, ann, TEA, BIKE, TEA)
    assert await given(studio, ann, "Buy tea") == [TEA]
    assert await given(studio, ann, "Who can mend a bicycle") == [BIKE]
    assert await given(studio, ann, "Where is the moon") == []


async def test_no_run_is_given_what_another_person_said_and_all_what_no_person_said(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(**SETTINGS))
    ann, bob = [await orm.run_in_thread(partial(person, name)) for name in ("ann", "bob")]
    await says(studio, ann, TEA)
    await says(studio, None, BIKE)
    task = "Buy tea, or a bicycle"
    assert sorted(await given(studio, ann, task)) == [TEA, BIKE]
    assert await given(studio, bob, task) == [BIKE]
    assert await given(studio, None, task) == [BIKE]


async def test_an_erased_person_is_forgotten_and_no_other(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(**SETTINGS))
    ann, bob = [await orm.run_in_thread(partial(person, name)) for name in ("ann", "bob")]
    await says(studio, ann, TEA)
    await says(studio, bob, TEA)
    erase = partial(erase_memories, studio.workspace, ann, by=SYSTEM)
    await orm.run_in_thread(partial(erase, agent="another"))
    assert await given(studio, ann, "Buy tea") == [TEA]
    await orm.run_in_thread(erase)
    assert await given(studio, ann, "Buy tea") == []
    assert await given(studio, bob, "Buy tea") == [TEA]
