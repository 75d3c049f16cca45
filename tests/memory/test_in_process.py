"""Memories in the process of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from memory.providers import in_process
from memory.providers.in_process import InProcessMemories
from memory.providers.protocol import MemoryContext, Said

if TYPE_CHECKING:
    import pytest

TALK, OTHER_TALK = UUID(int=7), UUID(int=8)


def run(
    *, workspace: int = 1, agent: str = "solo", user: int | None = None, talk: UUID | None = None
) -> MemoryContext:
    return MemoryContext(UUID(int=1), workspace, agent, user, talk)


def said(*texts: str) -> list[Said]:
    return [Said("person", text, 1) for text in texts]


def given(store: InProcessMemories, context: MemoryContext, task: str = "tea") -> list[str]:
    return [one.text for one in store.before(context, task)]


def test_a_text_stays_in_its_workspace_agent_and_conversation() -> None:
    store = InProcessMemories()
    store.after(run(talk=TALK), said("Tea of a talk."))
    store.after(run(user=5, talk=TALK), said("Tea of a person."))
    assert given(store, run(talk=TALK)) == ["Tea of a talk."]
    assert given(store, run(user=5, talk=OTHER_TALK)) == ["Tea of a person."]
    for other in (run(), run(talk=OTHER_TALK), run(workspace=2, user=5, talk=TALK)):
        assert given(store, other) == []
    assert given(store, run(agent="other", user=5, talk=TALK)) == []


def test_rare_words_come_first_and_reasons_and_days_are_given() -> None:
    store = InProcessMemories()
    store.after(run(), said("Ann has green tea.", "Ann has milk.", "What tea has Ann?"))
    store.after(run(), [Said("agent", "Ann has black tea.", 1)])
    first, second = store.before(run(), "Does Ann drink TEA?")
    assert (first.text, first.why) == ("Ann has green tea.", "has ann, tea")
    assert (second.text, second.why) == ("Ann has milk.", "has ann")
    assert first.source.startswith("said 20")
    assert not first.from_outsiders


def test_the_oldest_texts_and_the_longest_unused_owners_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_process, "MOST_TEXTS", 2)
    monkeypatch.setattr(in_process, "MOST_OWNERS", 2)
    store = InProcessMemories()
    store.after(run(user=1), said("Tea 1.", "Tea 2.", "Tea 3."))
    assert given(store, run(user=1)) == ["Tea 3.", "Tea 2."]
    store.after(run(user=2), said("Tea 4."))
    assert given(store, run(user=1)) == ["Tea 3.", "Tea 2."]
    store.after(run(user=3), said("Tea 5."))
    assert given(store, run(user=2)) == []
    assert given(store, run(user=1)) == ["Tea 3.", "Tea 2."]
