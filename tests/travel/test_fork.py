"""Forks on the real database: nothing of the past is done again, and the model sees the same."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.decide_call import approve_call, deny_call
from agents.actions.fork_run import Edits, ForkRefusedError
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run, steer_run
from agents.actions.start_conversation import start_conversation
from agents.choices import Placement, RunStatus
from agents.errors import AgentNotFoundError, InvalidEditError
from agents.live.follow import wait_for_end
from agents.loop.history import TurnNotFoundError, TurnOpenError
from agents.models import Agent, BlackboardEntry, Run, RunEvent
from agents.models import ToolCall as Call
from agents.reads.versions import VersionNotFoundError
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import UsageEntry
from heartbit_site.operations.turn_views import describe_turn, list_turns
from tests.runtime.deciding import ANNA, waiting
from tests.starts import fork_run, post_message

if TYPE_CHECKING:
    from uuid import UUID

    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
FORKER = Actor("anna", "web")
SUM = '[[calls: calculate {"expression": "6*7"}]]'
THEN = '[[then: calculate {"expression": "1+1"}]]'


class Script:
    """A task with a key, by which the fake provider's ledger is searched."""

    def __init__(self, server: WireServer, *directives: str) -> None:
        self._ledger = server.ledger
        self.key = secrets.token_hex(4)
        self.task = " ".join(["Do it.", *directives, f"[[run: {self.key}]]"])

    def digests(self) -> list[tuple[int, str]]:
        """Of each request, in their order: the answers before it, and a digest of its body."""
        assert self._ledger is not None
        asked = map(json.loads, self._ledger.read_text().splitlines())
        return [(entry["turn"], entry["digest"]) for entry in asked if entry["run"] == self.key]


async def fork(studio: Studio, run: Run, turn: int, *, execute: bool = True, **edits: Any) -> Run:
    """Fork, and execute the fork to its end."""

    def make() -> UUID:
        source = Run.objects.select_related("version__agent", "workspace").get(pk=run.pk)
        return fork_run(source, turn, edits=Edits(**edits), by=FORKER, home=Placement.LOCAL)

    run_id = await orm.run_in_thread(make)
    if not execute:
        return await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    studio.host.execute(run_id)
    return await wait_for_end(run_id, studio.host.window)


def turn_of(run: Run, number: int) -> dict[str, Any]:
    return describe_turn(run, number).model_dump()


async def journal(run: Run) -> list[RunEvent]:
    return await orm.run_in_thread(lambda: list(run.events.order_by("seq")))


async def calls(run: Run) -> list[tuple[str, str, str | None]]:
    def read() -> list[tuple[str, str, str | None]]:
        rows = Call.objects.filter(run=run).order_by("id")
        assert {row.idempotency_key for row in rows} == {f"{run.pk}:{r.call_id}" for r in rows}
        return [(row.call_id, row.status, row.result) for row in rows]

    return await orm.run_in_thread(read)


async def test_a_fork_goes_on_from_a_turn_and_repeats_nothing_before_it(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    script = Script(wire_server, SUM, THEN, "[[text: Done.]]")
    source = await studio.run(script.task)
    assert [answered for answered, _ in script.digests()] == [0, 1, 2]
    made = await fork(studio, source, 1)
    assert (made.status, made.output) == (RunStatus.SUCCEEDED, "Done.")
    asked = script.digests()
    assert asked[3:4] == asked[1:2], "turn 2 byte for byte; turn 1 is not asked again"
    assert [answered for answered, _ in asked[3:]] == [1, 2]
    assert await calls(made) == await calls(source)
    events = await journal(made)
    assert [event.seq for event in events] == list(range(1, made.last_seq + 1))
    kinds = [event.type for event in events]
    assert kinds.index("run.forked") == made.forked_seq
    assert (made.forked_from_id, made.parent_id, made.root_id) == (source.pk, None, made.pk)
    copied = [(e.type, e.payload, e.at) for e in events[1 : made.forked_seq]]
    assert copied == [
        (e.type, e.payload, e.at) for e in (await journal(source))[1 : made.forked_seq]
    ]

    def spent() -> tuple[list[int], int]:
        entries = UsageEntry.objects.filter(run_id=made.pk).order_by("turn")
        return [entry.turn for entry in entries], sum(entry.input_tokens for entry in entries)

    turns, tokens = await orm.run_in_thread(spent)
    assert turns == [2, 3], "the source paid for turn 1"
    assert made.input_tokens == tokens


async def test_a_sub_agents_work_is_kept_and_it_is_not_started_again(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    def team() -> None:
        helper = agent("helper", tools=("calculate",))
        boss = agent("boss")
        boss.team.add(helper)
        publish_agent(boss)

    await orm.run_in_thread(team)
    inner = json.dumps({"agent": "helper", "task": f"Sum. {SUM} [[text: It is 42.]]"})
    script = Script(wire_server, f"[[delegate: {inner}]]", "[[text: Done.]]")
    source = await studio.run(script.task, agent="boss")
    made = await fork(studio, source, 1)
    asked = script.digests()
    assert asked[2:] == asked[1:2], "turn 2, byte for byte"

    def around() -> tuple[int, list[str], list[tuple[str, bool]]]:
        shared = BlackboardEntry.objects.filter(root=made)
        waits = made.waits.values_list("kind", "resolved_at")
        return (
            Run.objects.filter(root=made).count(),
            [entry.key for entry in shared],
            [(kind, at is not None) for kind, at in waits],
        )

    assert await orm.run_in_thread(around) == (1, ["agent:helper"], [("child", True)])
    shown = await orm.run_in_thread(lambda: turn_of(made, 1))
    [call] = shown["calls"]
    child = await orm.run_in_thread(lambda: Run.objects.get(parent=source))
    assert call["runs"] == [str(child.pk)], "where the work was done"


async def test_what_was_steered_and_summarised_is_in_the_fork_as_in_its_source(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    strategy = {"type": "summarize", "threshold": 700, "keep_recent": 1}
    await orm.run_in_thread(
        lambda: agent(tools=("calculate",), context_strategy=strategy, approval="always")
    )
    script = Script(wire_server, SUM)
    run_id = await studio.start(script.task)
    for number in (1, 2):
        [call] = await waiting(studio, run_id, number)
        if number == 1:
            run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
            words = f"{'Consider this. ' * 200} {SUM}"
            await orm.run_in_thread(partial(steer_run, run, words, by=FORKER))
        await orm.run_in_thread(partial(approve_call, call, digest=call.digest, by=ANNA))
    source = await wait_for_end(run_id, studio.host.window)
    kinds = [event.type for event in await journal(source)]
    assert {"run.steered", "context.summarized", "wait.resolved"} <= set(kinds)
    asked = script.digests()
    made = await fork(studio, source, 2)
    assert script.digests()[len(asked) :] == asked[-1:], "the last request, byte for byte"
    assert made.output == source.output
    assert (await calls(made)) == (await calls(source))
    assert not await orm.run_in_thread(made.decisions.exists), "who decided is the source's"


async def test_replaced_arguments_run_the_turn_again_and_are_asked_for_again(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    two = '[[calls: calculate {"expression": "1+1"}, calculate {"expression": "2+2"}]]'
    run_id = await studio.start(f"{two} [[text: Done.]]")
    waited = await waiting(studio, run_id, 2)
    await orm.run_in_thread(partial(approve_call, waited[0], digest=waited[0].digest, by=ANNA))
    source = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    assert source.status == RunStatus.WAITING, "a fork needs no finished source"
    with pytest.raises(TurnOpenError, match=r"no result of 1\.0, 1\.1"):
        await fork(studio, source, 1)
    edit: dict[str, Any] = {"call": "1.1", "arguments": '{"expression": "5*5"}'}
    made = await fork(studio, source, 1, execute=False, **edit)
    assert [(c, status) for c, status, _ in await calls(made)] == [
        *(("1.0", "pending"), ("1.1", "pending"))
    ]
    studio.host.execute(made.pk)
    again = await waiting(studio, made.pk, 2)
    assert [call.call_id for call in again] == ["1.0", "1.1"], "the first one too"
    for call in again:
        await orm.run_in_thread(partial(approve_call, call, digest=call.digest, by=ANNA))
    ended = await wait_for_end(made.pk, studio.host.window)
    assert [result for _, _, result in await calls(ended)] == ["2", "25"]
    await orm.run_in_thread(partial(cancel_run, studio.workspace, run_id, reason="enough"))
    assert [status for _, status, _ in await calls(source)] == ["cancelled", "cancelled"]


async def test_a_message_a_task_a_result_and_a_version_change_what_comes(
    studio: Studio, agent: Create
) -> None:
    def publish() -> Agent:
        row = agent(tools=("calculate",))
        row.model = "openai:other"
        row.save()
        publish_agent(row)
        row.model = ""
        row.save()
        publish_agent(row)
        return row

    await orm.run_in_thread(publish)
    source = await studio.run(f"{SUM} [[text: Done.]]")
    told = await fork(studio, source, 2, message="Now say [[text: Bye.]]")
    assert told.output == "Bye."
    with pytest.raises(ForkRefusedError, match="Turn 2 ended the run"):
        await fork(studio, source, 2)
    tasked = await fork(studio, source, 0, task="Say [[text: Hello.]]")
    assert (tasked.task, tasked.output) == ("Say [[text: Hello.]]", "Hello.")
    assert [event.type for event in (await journal(tasked))[:3]] == [
        *("run.created", "run.started", "run.forked")
    ]
    given = await fork(studio, source, 1, call="1.0", result="43, to be sure")
    assert await calls(given) == [("1.0", "ok", "43, to be sure")]
    sent = (await orm.run_in_thread(lambda: turn_of(given, 2)))["request"]["messages"]
    assert sent[-1]["content"] == "43, to be sure"
    other = await fork(studio, source, 1, version=2)
    assert other.version_id != source.version_id
    assert other.model == "openai:fake", "the model that was asked for wins over the version's"
    [event] = [e for e in await journal(other) if e.type == "run.forked"]
    assert event.payload["edits"] == {"version": 2}
    assert event.payload["by"] == "anna"


async def test_a_fork_of_an_answer_on_a_thread_knows_the_thread_and_is_not_on_it(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    thread = await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))

    async def say(text: str) -> Run:
        posted = await orm.run_in_thread(
            lambda: post_message(thread, text, model="openai:fake", home=Placement.LOCAL)
        )
        studio.host.execute(posted.run_id)
        return await wait_for_end(posted.run_id, studio.host.window)

    script = Script(wire_server, "[[text: Hello Ben.]]")
    first = await say(script.task)
    second = await say(f"{SUM} [[text: Done.]]")
    await say("Later. [[text: Later.]]")
    made = await fork(studio, second, 1)
    asked = script.digests()
    assert asked[4:] == asked[2:3], "the second request of the second run, byte for byte"
    assert made.conversation_id is None
    again = await fork(studio, made, 1)
    await orm.run_in_thread(first.delete)
    await orm.run_in_thread(lambda: Run.objects.filter(pk=second.pk).delete())
    shown = await orm.run_in_thread(lambda: turn_of(Run.objects.get(pk=again.pk), 2))
    said = [message.get("text") for message in shown["request"]["messages"]]
    assert said[:2] == [script.task, "Hello Ben."], "kept by the fork"


async def test_what_makes_no_sense_is_refused_in_a_sentence_and_writes_nothing(
    studio: Studio, agent: Create
) -> None:
    row = await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    source = await studio.run(f"{SUM} [[text: Done.]]")
    before = await orm.run_in_thread(Run.objects.count)
    refused: list[tuple[int, dict[str, Any], type[Exception], str]] = [
        (9, {}, TurnNotFoundError, "no turn 9; its turns are: 1 to 2"),
        (1, {"call": "1.7", "result": "x"}, InvalidEditError, "no call 1.7; its calls are: 1.0"),
        (1, {"call": "1.0"}, InvalidEditError, "say what it gets instead"),
        (1, {"result": "x"}, InvalidEditError, "belong to a call"),
        (1, {"call": "1.0", "result": "x", "arguments": "{}"}, InvalidEditError, "Give either"),
        (1, {"call": "1.0", "arguments": "{"}, InvalidEditError, "could not be parsed"),
        (1, {"call": "1.0", "arguments": '{"x": 1}'}, InvalidEditError, "expression"),
        (1, {"version": 7}, VersionNotFoundError, "no version 7; there are: 1"),
    ]
    for turn, edits, kind, words in refused:
        with pytest.raises(kind, match=words):
            await fork(studio, source, turn, execute=False, **edits)
    await orm.run_in_thread(lambda: Agent.objects.filter(pk=row.pk).update(enabled=False))
    with pytest.raises(AgentNotFoundError, match="is stopped"):
        await fork(studio, source, 1, execute=False)
    assert await orm.run_in_thread(Run.objects.count) == before


async def test_a_key_gives_one_fork_and_every_turn_can_be_looked_at(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    run_id = await studio.start(f"{SUM} [[text: Done.]]")
    [call] = await waiting(studio, run_id)
    open_turn = await orm.run_in_thread(lambda: turn_of(Run.objects.get(pk=run_id), 1))
    assert (open_turn["complete"], open_turn["calls"][0]["status"]) == (False, "waiting")
    await orm.run_in_thread(
        partial(deny_call, call, digest=call.digest, by=ANNA, reason="By hand!")
    )
    source = await wait_for_end(run_id, studio.host.window)

    def twice() -> set[UUID]:
        run = Run.objects.get(pk=source.pk)
        return {fork_run(run, 1, home=Placement.LOCAL, idempotency_key="k") for _ in range(2)}

    assert len(await orm.run_in_thread(twice)) == 1
    shown = await orm.run_in_thread(lambda: turn_of(source, 1))
    assert shown["request"]["system"] == "Be brief."
    assert shown["request"]["messages"] == [{"role": "user", "text": source.task}]
    assert [tool["name"] for tool in shown["request"]["tools"]] == ["calculate"]
    [asked] = shown["calls"]
    assert (asked["status"], asked["decision"]["status"], asked["decision"]["reason"]) == (
        *("refused", "denied", "By hand!"),
    )
    assert shown["usage"]["output_tokens"] > 0
    short = await orm.run_in_thread(lambda: list_turns(source))
    assert [(row.number, row.tools, row.complete) for row in short] == [
        *((1, ["calculate"], True), (2, [], True))
    ]
