"""A program decides on the calls that wait: approve, edit, deny, always."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agents.errors import InvalidEditError
from agents.models import Decision, Run
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library import Approve, Deny, Edit, bind, tool

if TYPE_CHECKING:
    from heartbit_site.library import Approval, Heartbit, Result

SENT: list[str] = []
SEND = '[[calls: post_letter {"to": "Anna"}]] [[text: Done.]]'
THREE = (
    '[[calls: post_letter {"to": "A"}, post_letter {"to": "B"}, post_letter {"to": "C"}]]'
    " [[text: Done.]]"
)


@tool
def post_letter(to: str) -> str:
    """Send a letter."""
    SENT.append(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


@pytest.fixture
def clerk(heartbit: Heartbit) -> Heartbit:
    return heartbit.agent("clerk", "Work.", tools=[post_letter, "calculate"])


def finished(result: Result) -> list[tuple[str, str]]:
    return [
        (event.data.status, event.data.content)
        for event in result.events
        if event.type == "tool.finished"
    ]


@pytest.mark.parametrize("answer", [True, Approve()])
def test_an_approved_call_runs_as_shown(clerk: Heartbit, answer: Any) -> None:
    asked: list[Approval] = []

    def ask(approval: Approval) -> Any:
        asked.append(approval)
        assert SENT == []
        return answer

    result = clerk.on_approval(ask).run(SEND)
    assert finished(result.expect()) == [("ok", "sent to Anna")]
    (approval,) = asked
    assert (approval.agent, approval.tool, approval.effect, approval.run_id) == (
        "clerk",
        "post_letter",
        "at_most_once",
        result.run_id,
    )
    assert approval.arguments == {"to": "Anna"}
    decision = Decision.objects.get(run_id=result.run_id)
    assert (decision.verdict, decision.decided_by, decision.via) == (
        "approved",
        "the program",
        "inline",
    )
    assert decision.digest == approval.digest


def test_an_edited_call_runs_with_the_new_arguments(clerk: Heartbit) -> None:
    result = clerk.on_approval(lambda approval: Edit({"to": approval.arguments["to"] + " B."})).run(
        SEND
    )
    assert finished(result) == [("ok", "sent to Anna B.")]
    assert SENT == ["Anna B."]


@pytest.mark.parametrize(
    ("answer", "reason"), [(False, "no reason given"), (Deny("She moved."), "She moved.")]
)
def test_a_denied_call_does_not_run(clerk: Heartbit, answer: Any, reason: str) -> None:
    result = clerk.on_approval(lambda _: answer).run(SEND)
    assert result.text == "Done."
    ((status, content),) = finished(result)
    assert status == "refused"
    assert reason in content
    assert SENT == []


async def test_parallel_calls_are_asked_one_by_one_by_an_async_callback(clerk: Heartbit) -> None:
    at_once = 0
    most = 0

    async def ask(approval: Approval) -> bool:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1
        return bool(approval.arguments["to"] != "B")

    result = await clerk.on_approval(ask).arun(THREE)
    assert [status for status, _ in finished(result)].count("ok") == 2
    assert sorted(SENT) == ["A", "C"]
    assert most == 1


def test_always_in_this_run_asks_once(clerk: Heartbit) -> None:
    asked: list[str] = []

    def ask(approval: Approval) -> Approve:
        asked.append(approval.call_id)
        return Approve(always="run")

    careful = clerk.on_approval(ask)
    careful.run(THREE + ' [[then: post_letter {"to": "D"}]]')
    assert sorted(SENT) == ["A", "B", "C", "D"]
    assert len(asked) == 1
    careful.run(SEND)
    assert len(asked) == 2, "another run asks again"


def test_which_calls_wait(clerk: Heartbit, heartbit: Heartbit) -> None:
    asked: list[str] = []

    def ask(approval: Approval) -> bool:
        asked.append(approval.tool)
        return True

    both = '[[calls: calculate {"expression": "1+1"}, post_letter {"to": "A"}]] [[text: Done.]]'
    clerk.on_approval(ask).run(both)
    assert asked == ["post_letter"], "a pure tool has no effect to ask about"
    asked.clear()
    clerk.on_approval(ask, calls="always").run(both)
    assert sorted(asked) == ["calculate", "post_letter"]
    asked.clear()
    rule = {"properties": {"to": {"const": "A"}}}
    ruled = heartbit.agent("clerk", "Work.", tools=[bind(post_letter, approval_when=rule)])
    ruled.on_approval(ask, calls="never").run(THREE)
    assert asked == ["post_letter"]


def test_a_sub_agents_calls_are_asked_for_too(clerk: Heartbit) -> None:
    asked: list[str] = []

    def ask(approval: Approval) -> bool:
        asked.append(approval.agent)
        return True

    task = '[[delegate: {"agent": "clerk", "task": "' + SEND.replace('"', '\\"') + '"}]]'
    result = clerk.agent("other", "Work.").on_approval(ask).run(task + " [[text: All.]]")
    assert result.text == "All."
    assert asked == ["clerk"]
    assert SENT == ["Anna"]


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (None, ConfigurationError, "The on_approval callback returned None: return True, False"),
        (Edit({"too": "Anna"}), InvalidEditError, "post_letter"),
    ],
)
def test_an_answer_that_is_no_decision_ends_the_run(
    clerk: Heartbit, answer: Any, kind: type[Exception], sentence: str
) -> None:
    asked: list[Approval] = []

    def ask(approval: Approval) -> Any:
        asked.append(approval)
        return answer

    with pytest.raises(kind, match=sentence):
        clerk.on_approval(ask).run(SEND)
    assert Run.objects.get(pk=asked[0].run_id).status == "cancelled"
    assert SENT == []
