"""R19: what a run would do next is what it would have done when its journal was recorded."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agents.definitions import snapshot
from agents.journal.events import RunSteered, ToolStarted
from agents.loop import checkpoint, empty_answers
from agents.loop.agent_state import AgentState
from tests.chaos.replay.kept import Kept, load
from tests.chaos.replay.replay import Outcome, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.journal.events import Event
    from agents.loop.call_state import CallState
    from agents.loop.state import RunState

ENOUGH = 200


@pytest.fixture(scope="module")
def journals() -> Sequence[Kept]:
    return tuple(load())


def replayed(journals: Sequence[Kept]) -> list[Outcome]:
    async def all_of_them() -> list[Outcome]:
        return [await replay(each) for each in journals]

    return asyncio.run(all_of_them())


def different(outcomes: list[Outcome]) -> list[str]:
    return [words for outcome in outcomes for words in outcome.different]


def of(journals: Sequence[Kept], shape: str) -> list[Kept]:
    found = [each for each in journals if each.shape == shape]
    assert found, f"no journal of the shape {shape} was kept"
    return found


def test_every_recorded_decision_is_made_again_or_the_journal_is_refused(
    journals: Sequence[Kept],
) -> None:
    outcomes = replayed(journals)
    assert different(outcomes) == []
    assert [outcome.refused for outcome in outcomes if outcome.refused] == []
    assert len(outcomes) >= ENOUGH
    assert all(outcome.points for outcome in outcomes), "one without a decision proves nothing"


def test_every_kind_of_decision_is_among_them(journals: Sequence[Kept]) -> None:
    kinds = Counter(point.kind for each in journals for point in each.points)
    for kind in (
        *("ask own", "ask strong", "call calculate", "call store_item", "call http_request"),
        *("call blackboard_write", "call delegate_task", "suspend approval.requested"),
        *("suspend outcome.requested", "record tool.finished", "finish run.succeeded"),
        *("finish run.failed", "finish run.cancelled"),
    ):
        assert kinds[kind], f"no decision to {kind} among {sorted(kinds)}"
    events = Counter(event["type"] for each in journals for event in each.events)
    for event in ("context.summarized", "model.delayed", "run.forked", "run.steered"):
        assert events[event], f"no {event} among {sorted(events)}"


class TestAChangeIsSeen:
    """A replay that cannot fail proves nothing: each of these is a mistake somebody could make."""

    def test_given_results_that_no_longer_reach_the_model(
        self, journals: Sequence[Kept], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def forgetful(state: AgentState, calls: list[CallState]) -> None:
            state._judge(poor=not calls)

        monkeypatch.setattr(AgentState, "_close_calls", forgetful)
        assert different(replayed(of(journals, "pure")))

    def test_given_steers_that_are_put_after_the_answer_they_were_seen_by(
        self, journals: Sequence[Kept], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        apply = AgentState.apply

        def deaf(state: AgentState, event: Event) -> None:
            apply(state, event)
            if isinstance(event, RunSteered):
                state.inbox.clear()

        monkeypatch.setattr(AgentState, "apply", deaf)
        assert different(replayed(of(journals, "steer")))

    def test_given_an_intent_that_is_forgotten(
        self, journals: Sequence[Kept], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        apply = AgentState.apply

        def careless(state: AgentState, event: Event) -> None:
            apply(state, event)
            if isinstance(event, ToolStarted):
                state.calls[event.call_id].started = ""

        monkeypatch.setattr(AgentState, "apply", careless)
        words = different(replayed(of(journals, "uncertain_confirmed")))
        assert any(
            "was suspend outcome.requested, and from the fold it is call" in w for w in words
        )

    def test_given_another_rule_for_the_request(
        self, journals: Sequence[Kept], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(empty_answers, "ANSWER", "Say something.")
        assert different(replayed(of(journals, "silent_twice")))

    def test_given_a_checkpoint_that_loses_a_field(
        self, journals: Sequence[Kept], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decode = checkpoint.decode

        def lossy(kind: str, stored: dict[str, Any]) -> RunState:
            state = decode(kind, stored)
            assert isinstance(state, AgentState)
            state.calls = {}
            return state

        monkeypatch.setattr(checkpoint, "decode", lossy)
        words = different(replayed(of(journals, "pure")))
        assert words
        assert all("from a checkpoint" in each for each in words)


class TestAJournalOfANewerHeartbit:
    def test_given_an_event_nobody_knows_it_is_refused(self, journals: Sequence[Kept]) -> None:
        kept = journals[0]
        news = {"seq": 2, "type": "run.dreamt", "payload": {}, "at": kept.events[0]["at"]}
        [outcome] = replayed([replace(kept, events=(kept.events[0], news))])
        assert outcome.refused == "'run.dreamt'"
        assert not outcome.different

    def test_given_a_version_of_another_format_it_is_refused(
        self, journals: Sequence[Kept]
    ) -> None:
        newer = {**journals[0].snapshot, "format": snapshot.FORMAT + 1}
        [outcome] = replayed([replace(journals[0], snapshot=newer)])
        assert "upgrade the workers" in outcome.refused
