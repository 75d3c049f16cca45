"""Many runs on one thread, and what becomes of a message while another is still worked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agents.actions.runs import cancel_run, steer_run
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy, Placement, RunStatus
from agents.errors import CallClosedError, ConversationBusyError
from agents.journal.events import ModelAnswered
from agents.live.follow import follow, wait_for_end
from agents.live.updates import DeltaUpdate
from agents.models import Agent, Conversation, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from tests.runtime.deciding import happened, waiting
from tests.starts import post_message

if TYPE_CHECKING:
    from agents.actions.admit import Admitted
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
BEN = Actor("ben", "web")


@pytest.fixture
async def thread(studio: Studio, agent: Create) -> Conversation:
    """A conversation with an agent that asks before it calculates."""
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    return await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))


class Voice:
    """Says something on a thread, and executes what answers it."""

    def __init__(self, studio: Studio, thread: Conversation) -> None:
        self._studio, self._thread = studio, thread

    async def post(self, text: str, policy: BusyPolicy | None = None) -> Admitted:
        posted = await orm.run_in_thread(
            lambda: post_message(
                self._thread,
                text,
                by=BEN,
                model="openai:fake",
                home=Placement.LOCAL,
                busy_policy=policy,
            )
        )
        self._studio.host.execute(posted.run_id)
        return posted

    async def say(self, text: str) -> Run:
        posted = await self.post(text)
        return await wait_for_end(posted.run_id, self._studio.host.window)


@pytest.fixture
def voice(studio: Studio, thread: Conversation) -> Voice:
    return Voice(studio, thread)


BUSY = '[[calls: calculate {"expression": "1"}]] [[text: First.]]'


async def test_a_run_knows_what_was_said_before(studio: Studio, voice: Voice) -> None:
    first = await voice.say("[[text: My name is Ann.]]")
    second = await voice.say("[[text: Hello again.]]")
    assert (first.output, second.output) == ("My name is Ann.", "Hello again.")
    third = await voice.say("Say more. [[text: Third.]]")
    answered = next(e for e in await studio.events(third) if e.type == ModelAnswered.type)
    before = next(e for e in await studio.events(first) if e.type == ModelAnswered.type)
    assert (
        answered.payload["usage"]["input_tokens"] > before.payload["usage"]["input_tokens"] + 10
    ), "the model was sent more than the third message"


async def test_by_default_a_second_message_is_answered_afterwards(
    studio: Studio, voice: Voice
) -> None:
    first = await voice.post(BUSY)
    [call] = await waiting(studio, first.run_id)
    second = await voice.post("[[text: Second.]]")
    third = await voice.post("[[text: Third.]]")
    assert [first.outcome, second.outcome, third.outcome] == ["started", "queued", "queued"]
    held = await orm.run_in_thread(lambda: Run.objects.get(pk=second.run_id))
    assert (held.status, held.woken_at) == (RunStatus.QUEUED, None)
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, call.run_id, reason="enough"))
    ended = [await wait_for_end(posted.run_id, studio.host.window) for posted in (second, third)]
    assert [run.output for run in ended] == ["Second.", "Third."]
    first_end, second_begin = (
        (await orm.run_in_thread(lambda: Run.objects.get(pk=first.run_id))).finished_at,
        ended[0].started_at,
    )
    assert first_end is not None
    assert second_begin is not None
    assert first_end < second_begin < (ended[1].started_at or second_begin)


async def test_a_held_run_that_is_cancelled_starts_nothing(studio: Studio, voice: Voice) -> None:
    first = await voice.post(BUSY)
    await waiting(studio, first.run_id)
    second, third = await voice.post("[[text: 2.]]"), await voice.post("[[text: 3.]]")
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, second.run_id, reason="no"))
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=third.run_id))
    assert run.status == RunStatus.QUEUED
    assert run.started_at is None, "the first one is still under way"
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, first.run_id, reason="no"))
    assert (await wait_for_end(third.run_id, studio.host.window)).output == "3."


async def test_it_may_be_refused(studio: Studio, voice: Voice) -> None:
    first = await voice.post(BUSY)
    await waiting(studio, first.run_id)
    with pytest.raises(ConversationBusyError, match=str(first.run_id)):
        await voice.post("[[text: 2.]]", BusyPolicy.REJECT)
    assert (
        await orm.run_in_thread(lambda: Run.objects.filter(workspace=studio.workspace).count()) == 1
    )
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, first.run_id, reason="over"))


async def test_it_may_interrupt(studio: Studio, voice: Voice) -> None:
    first = await voice.post(BUSY)
    await waiting(studio, first.run_id)
    second = await voice.post("[[text: 2.]]", BusyPolicy.INTERRUPT)
    assert (await wait_for_end(second.run_id, studio.host.window)).output == "2."
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=first.run_id))
    assert run.status == RunStatus.CANCELLED


async def test_it_may_steer_the_run_under_way(studio: Studio, voice: Voice) -> None:
    first = await voice.post("[[latency: 600]] [[text: First.]]")
    posted = await voice.post("[[text: Steered.]]", BusyPolicy.STEER)
    assert (posted.run_id, posted.outcome) == (first.run_id, "steered")
    run = await wait_for_end(first.run_id, studio.host.window)
    assert run.output == "Steered.", "an answer that had not seen it was not the last"
    kinds = [event.type for event in await studio.events(run)]
    assert kinds.count("model.answered") in (1, 2)  # 1: it came before the model was asked
    assert kinds.index("run.steered") < len(kinds) - 2
    next_one = await voice.say("[[text: And?]]")
    assert next_one.status == RunStatus.SUCCEEDED


async def test_a_steer_during_the_last_answer_is_seen(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(agent)
    run_id = await studio.start("[[text: One.]] [[chunks: 4]] [[stream: 800]]")
    async for update in follow(run_id, studio.host.window):
        if isinstance(update, DeltaUpdate):
            break
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    await orm.run_in_thread(lambda: steer_run(run, "[[text: Two.]] [[stream: 0]]", by=BEN))
    await happened(studio, run_id, ModelAnswered, 2)
    ended = await wait_for_end(run_id, studio.host.window)
    assert ended.output == "Two."
    with pytest.raises(CallClosedError, match="has succeeded"):
        await orm.run_in_thread(lambda: steer_run(run, "Too late."))


async def test_a_run_of_one_turn_still_answers_what_it_was_told_meanwhile(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(max_turns=1))
    run_id = await studio.start("[[text: One.]] [[chunks: 4]] [[stream: 800]]")
    async for update in follow(run_id, studio.host.window):
        if isinstance(update, DeltaUpdate):
            break
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    await orm.run_in_thread(lambda: steer_run(run, "[[text: Two.]] [[stream: 0]]", by=BEN))
    ended = await wait_for_end(run_id, studio.host.window)
    assert (ended.status, ended.output) == (RunStatus.SUCCEEDED, "Two.")


async def test_what_an_interrupted_run_was_asked_reaches_the_model_of_the_next(
    studio: Studio, voice: Voice, wire_server: WireServer
) -> None:
    key = f"interrupted-{studio.workspace.slug}"  # the wire server's name for a first message
    first = await voice.post(f"{BUSY} [[run: {key}]]")
    await waiting(studio, first.run_id)
    second = await voice.post("[[text: 2.]]", BusyPolicy.INTERRUPT)
    assert (await wait_for_end(second.run_id, studio.host.window)).output == "2."
    assert wire_server.stats()["runs"][key]["requests"] == 2
