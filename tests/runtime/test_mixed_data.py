"""S5: after private data and outsiders' text, nothing leaves unless a person has seen it."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from agents.actions.decide_call import Always, approve_call, edit_call
from agents.actions.fork_run import Edits
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.actions.start_conversation import start_conversation
from agents.choices import Placement, RunStatus
from agents.definitions.advice import advice
from agents.definitions.spec import AgentSpec
from agents.live.follow import wait_for_end
from agents.models import Agent, Message, MessageKind, Run, ToolBinding, ToolCall
from agents.querysets import calls_waiting
from agents.runtime.rights.mixed_data import labels_read
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.toolspec import Label
from memory.actions.memories import remember, supersede, undo
from memory.choices import Scope
from memory.history import Author
from memory.models import MemoryItem
from memory.place import MemoryPlace
from scheduling.actions.remove_schedule import remove_schedule
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from tests.fleet import Worker, wait_until
from tests.runtime import desk
from tests.runtime.deciding import ANNA, waiting
from tests.runtime.desk import agent_tools
from tests.runtime.desk.agent_tools import HOLD
from tests.starts import fork_run, post_message, start_run
from tools.definitions.registry import marked, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

    Create = Callable[..., Agent]

TOOLS = ("read_ledger", "read_letter", "send_letter")
READ = "[[calls: read_ledger {}, read_letter {}]]"
SEND = '[[then: send_letter {"text": "We owe 12."}]]'
REASON = (
    "send_letter sends data out, after private data (read_ledger) and text by outsiders "
    "(read_letter) were read."
)


@pytest.fixture(scope="module", autouse=True)
def installed() -> Iterator[None]:
    """The tools, in this process."""
    specs = list(marked(vars(agent_tools).values()))
    for spec in specs:
        registry.register(spec)
    yield
    for spec in specs:
        registry._specs.pop(spec.name, None)


async def created(agent: Create, name: str = "solo", **fields: Any) -> Agent:
    return await orm.run_in_thread(lambda: agent(name, **{"tools": TOOLS, **fields}))


async def statuses(run: Run) -> list[tuple[str, str]]:
    return await orm.run_in_thread(
        lambda: list(run.calls.order_by("id").values_list("tool", "status"))
    )


async def approved(call: ToolCall, **how: Any) -> None:
    await orm.run_in_thread(partial(approve_call, call, digest=call.digest, by=ANNA, **how))


def reason(call: ToolCall) -> str:
    assert call.approval_view is not None
    return str(call.approval_view["reason"])


async def ended(studio: Studio, run_id: UUID) -> Run:
    return await wait_for_end(run_id, studio.host.window)


class TestWhenItAsks:
    async def test_a_call_that_sends_waits_once_both_were_read(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        run_id = await studio.start(f"{READ} {SEND}")
        [call] = await waiting(studio, run_id)
        assert (call.tool, reason(call)) == ("send_letter", REASON)
        await approved(call)
        run = await ended(studio, run_id)
        assert run.status == RunStatus.SUCCEEDED
        assert (await statuses(run))[-1] == ("send_letter", "ok")

    @pytest.mark.parametrize(
        "before", ["", "[[calls: read_ledger {}]]", "[[calls: read_letter {}]]"]
    )
    async def test_neither_alone_nor_calls_of_the_same_turn_make_it_wait(
        self, studio: Studio, agent: Create, before: str
    ) -> None:
        await created(agent)
        send = SEND if before else f"[[calls: send_letter {{}}]] {SEND}"
        run = await studio.run(f"{before} {send}")
        assert ("send_letter", "ok") in await statuses(run)

    async def test_a_call_decided_before_it_read_the_other_s_result_does_not_wait(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        run = await studio.run(f'{READ[:-2]}, send_letter {{"text": "Hello."}}]]')
        assert ("send_letter", "ok") in await statuses(run)

    async def test_a_refused_or_malformed_call_has_read_nothing(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        run = await studio.run(
            f'[[calls: read_ledger {{"x": 1}}, read_letter {{}}, nowhere {{}}]] {SEND}'
        )
        assert ("send_letter", "ok") in await statuses(run)

    async def test_the_agent_may_allow_it(self, studio: Studio, agent: Create) -> None:
        await created(agent, mixed_data="allow")
        run = await studio.run(f"{READ} {SEND}")
        assert (await statuses(run))[-1] == ("send_letter", "ok")

    async def test_a_binding_that_never_asks_does_not_allow_it(
        self, studio: Studio, agent: Create
    ) -> None:
        row = await created(agent)

        def never() -> None:
            ToolBinding.objects.filter(agent=row).update(approval="never")
            publish_agent(row)

        await orm.run_in_thread(never)
        run_id = await studio.start(f"{READ} {SEND}")
        [call] = await waiting(studio, run_id)
        assert reason(call) == REASON


class TestWhatCounts:
    async def test_what_a_sub_agent_read_counts_for_its_parent(
        self, studio: Studio, agent: Create
    ) -> None:
        await _team(agent)
        run_id = await studio.start(
            '[[delegate: {"agent": "clerk", "task": "Read. [[calls: read_ledger {}]]"}]] '
            f"[[then: read_letter {{}}]] {SEND}",
            agent="lead",
        )
        [call] = await waiting(studio, run_id)
        assert (call.run_id, reason(call)) == (run_id, REASON)

    async def test_what_the_parent_read_counts_for_its_sub_agent(
        self, studio: Studio, agent: Create
    ) -> None:
        await _team(agent)
        sub_task = 'Send. [[calls: send_letter {\\"text\\": \\"We owe 12.\\"}]]'
        tasks = f'[{{"agent": "clerk", "task": "{sub_task}"}}]'
        run_id = await studio.start(
            f'{READ} [[then: delegate_task {{"tasks": {tasks}}}]]', agent="lead"
        )
        call = await _waiting_in_tree(studio, run_id)
        assert call.run.parent_id == run_id
        assert reason(call) == REASON

    async def test_what_an_earlier_run_of_the_conversation_read_counts(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        thread = await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="solo"))

        async def post(text: str) -> UUID:
            posted = await orm.run_in_thread(
                lambda: post_message(
                    thread, text, by=ANNA, model="openai:fake", home=Placement.LOCAL
                )
            )
            studio.host.execute(posted.run_id)
            return posted.run_id

        await ended(studio, await post(READ))
        run_id = await post(SEND.replace("then", "calls"))
        [call] = await waiting(studio, run_id)
        assert reason(call) == REASON

    async def test_what_the_source_of_a_fork_read_counts(
        self, studio: Studio, agent: Create
    ) -> None:
        await _team(agent)
        run = await studio.run(
            '[[delegate: {"agent": "clerk", "task": "Read. [[calls: read_ledger {}]]"}]]',
            agent="lead",
        )
        edits = Edits(message=f"[[calls: read_letter {{}}]] {SEND}")
        fork = await orm.run_in_thread(lambda: fork_run(run, 1, edits=edits, home=Placement.LOCAL))
        studio.host.execute(fork)
        [call] = await waiting(studio, fork)
        assert reason(call) == REASON


class TestWhatTextsCarry:
    async def test_a_message_carries_what_its_writer_had_read(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent, tools=(*TOOLS, "send_message"))
        await created(agent, "clerk", tools=("read_messages", "send_letter"))
        write = '[[then: send_message {"to": "clerk", "text": "We owe 12."}]]'
        await studio.run(f"{READ} {write}")
        run_id = await studio.start(f"[[calls: read_messages {{}}]] {SEND}", agent="clerk")
        [call] = await waiting(studio, run_id)
        assert reason(call) == REASON

    async def test_a_run_that_a_message_started_has_read_what_its_writer_had_read(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        for source, said in (
            ((await studio.run(READ)).pk, "read_ledger"),
            (uuid4(), "a deleted run"),
        ):
            run_id = await orm.run_in_thread(partial(_started, studio, source=source))
            studio.host.execute(run_id)
            [call] = await waiting(studio, run_id)
            assert said in reason(call)

    async def test_a_message_through_a_channel_is_text_by_an_outsider(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        run_id = await orm.run_in_thread(
            partial(
                _started,
                studio,
                task=f"[[calls: read_ledger {{}}]] {SEND}",
                by=Actor("channel support", "api"),
            )
        )
        studio.host.execute(run_id)
        [call] = await waiting(studio, run_id)
        assert reason(call) == REASON.replace("read_letter", "a channel's message")

    async def test_a_task_that_a_run_planned_carries_what_it_had_read(
        self, studio: Studio, agent: Create
    ) -> None:
        row = await created(agent, tools=(*TOOLS, "schedule"))
        plan = '[[then: schedule {"name": "Later", "task": "Send.", "in_seconds": 900}]]'
        await studio.run(f"{READ} {plan}")
        both = {Label.PRIVATE, Label.UNTRUSTED}

        def read_by(schedule: Schedule) -> frozenset[Label]:
            run_id = run_schedule_now(schedule, by=ANNA)
            cancel_run(studio.workspace, run_id, reason="Seen.", by=ANNA)
            return labels_read(run_id, registry.get)

        def look() -> None:
            planned = Schedule.objects.get(workspace=studio.workspace)
            assert read_by(planned) == both
            planned.created_by_run_id = uuid4()
            planned.save()
            assert read_by(planned) == both, "of a run that is deleted"
            of_a_person = Schedule(
                workspace=studio.workspace, agent=row, name="Ours", task="Send.", cron="0 9 * * *"
            )
            save_schedule(of_a_person, by=ANNA)
            assert read_by(of_a_person) == set()
            run_id = run_schedule_now(planned, by=ANNA)
            cancel_run(studio.workspace, run_id, reason="Seen.", by=ANNA)
            remove_schedule(planned, by=ANNA)
            assert labels_read(run_id, registry.get) == both, "of a schedule that is deleted"
            remove_schedule(of_a_person, by=ANNA)

        await orm.run_in_thread(look)

    async def test_a_memory_carries_it_until_a_person_rewrites_it(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent, tools=(*TOOLS, "remember", "recall"))
        keep = '[[then: remember {"text": "Letters want the ledger."}]]'
        use = f"[[calls: recall {{}}]] {SEND}"
        await studio.run(f"[[calls: read_ledger {{}}]] {keep}")
        item = await orm.run_in_thread(partial(MemoryItem.objects.get, workspace=studio.workspace))
        assert not item.from_outsiders
        assert (await statuses(await studio.run(use)))[-1] == ("send_letter", "ok")
        await orm.run_in_thread(item.delete)

        await studio.run(f"[[calls: read_letter {{}}]] {keep}")
        run_id = await studio.start(use)
        [call] = await waiting(studio, run_id)
        assert reason(call) == (
            "send_letter sends data out, after private data (recall) and text by outsiders "
            "(memories) were read."
        )
        item = await orm.run_in_thread(partial(MemoryItem.objects.get, workspace=studio.workspace))
        by = Author(ANNA)
        await orm.run_in_thread(partial(supersede, item, by=by, text="The ledger stays here."))
        assert (await statuses(await studio.run(use)))[-1] == ("send_letter", "ok")
        again = await orm.run_in_thread(partial(undo, item, by=by))
        assert again.from_outsiders


class TestWhatDoesNotReplaceIt:
    async def test_a_standing_permission_replaces_no_decision_on_mixed_data(
        self, studio: Studio, agent: Create
    ) -> None:
        row = await created(agent, approval="effects")
        first = await studio.start(SEND.replace("then", "calls"))
        second = await studio.start(f"{READ} {SEND}")
        [mixed] = await waiting(studio, second)
        [plain] = await waiting(studio, first)
        assert reason(plain) != REASON
        await approved(plain, always=Always("agent"))
        await ended(studio, first)
        assert await _is_waiting(studio, mixed), "the permission was not for this"
        await approved(mixed, always=Always("agent"))
        await ended(studio, second)
        third = await studio.start(f"{READ} {SEND}")
        [call] = await waiting(studio, third)
        assert reason(call) == REASON
        run = await studio.run(SEND.replace("then", "calls"))
        assert await statuses(run) == [("send_letter", "ok")], "elsewhere it is allowed"
        assert row.mixed_data == "ask"

    async def test_an_edited_call_runs_as_edited_and_the_next_one_waits_again(
        self, studio: Studio, agent: Create
    ) -> None:
        await created(agent)
        run_id = await studio.start(f"{READ} {SEND} {SEND}")
        [call] = await waiting(studio, run_id)
        edited = '{"text": "Hello."}'
        await orm.run_in_thread(
            lambda: edit_call(call, digest=call.digest, by=ANNA, arguments=edited)
        )
        again = await _waiting_in_tree(studio, run_id, but=call)
        assert reason(again) == REASON
        await orm.run_in_thread(call.refresh_from_db)
        assert call.result == "sent: Hello."

    @pytest.mark.usefixtures("database", "wire_server")
    def test_nor_does_the_death_of_the_worker(self, workspace: Workspace, tmp_path: Path) -> None:
        queue, hold = f"desk-{secrets.token_hex(4)}", tmp_path / "hold"
        hold.touch()
        row = Agent.objects.create(
            workspace=workspace, name="clerk", system_prompt="Be brief.", queue=queue
        )
        for name in TOOLS:
            ToolBinding.objects.create(agent=row, tool=name)
        publish_agent(row)
        task = f"[[calls: read_ledger {{}}]] [[then: read_letter {{}}]] {SEND}"
        run_id = start_run(workspace, task, agent="clerk", model="openai:fake")
        calls = ToolCall.objects.filter(run_id=run_id)
        environment = {
            "HEARTBIT_EXTRA_APPS": desk.__name__,
            "HEARTBIT_LEASE_SECONDS": "3",
            HOLD: str(hold),
        }
        with Worker(queues=queue, environment=environment) as worker:
            wait_until(lambda: calls.filter(tool="read_letter").exists())
            worker.kill()
        hold.unlink()
        with Worker(queues=queue, environment=environment):
            wait_until(lambda: calls.filter(tool="send_letter", status="waiting").exists())
        assert reason(calls.get(tool="send_letter")) == REASON


class TestAdvice:
    def spec(self, *tools: str, **more: Any) -> AgentSpec:
        settings = {"name": "clerk", "description": "Keeps.", "system_prompt": "Keep."}
        return AgentSpec.model_validate({**settings, "tools": list(tools), **more})

    def test_an_agent_with_all_three_is_told_in_one_sentence(self) -> None:
        [sentence] = advice(self.spec(*TOOLS), registry)
        assert sentence == (
            "clerk can read private data (read_ledger), read text by outsiders (read_letter) and "
            "send data out (send_letter): sending needs an approval once both were read."
        )
        [sentence] = advice(self.spec(*TOOLS, mixed_data="allow"), registry)
        assert sentence.endswith("so an outsider's text may steer what leaves.")

    def test_two_of_them_are_no_matter(self) -> None:
        for left_out in TOOLS:
            tools = [name for name in TOOLS if name != left_out]
            assert not list(advice(self.spec(*tools), registry))


def _started(
    studio: Studio,
    *,
    source: UUID | None = None,
    task: str = SEND.replace("then", "calls"),
    by: Actor = ANNA,
) -> UUID:
    """A run, started by a message if one has a source."""
    run_id = start_run(
        studio.workspace, task, agent="solo", model="openai:fake", home=Placement.LOCAL, by=by
    )
    if source is not None:
        Message.objects.create(
            workspace=studio.workspace,
            sender="agent:other",
            recipient="agent:solo",
            kind=MessageKind.TASK,
            thread=str(run_id),
            seq=1,
            body=task,
            source_run_id=source,
            run_id=run_id,
        )
    return run_id


async def _team(agent: Create) -> None:
    clerk = await created(agent, "clerk", description="Reads and sends.")
    lead = await created(agent, "lead")

    def lead_them() -> None:
        lead.team.add(clerk)
        publish_agent(lead)

    await orm.run_in_thread(lead_them)


async def _is_waiting(studio: Studio, call: ToolCall) -> bool:
    return await orm.run_in_thread(
        lambda: calls_waiting(studio.workspace).filter(pk=call.pk).exists()
    )


async def _waiting_in_tree(
    studio: Studio, root_id: UUID, *, but: ToolCall | None = None
) -> ToolCall:
    """The one call of a tree that waits, once there is one beside ``but``."""

    def look() -> ToolCall:
        found = calls_waiting(studio.workspace).filter(run__root_id=root_id)
        others = found if but is None else found.exclude(pk=but.pk)
        call = wait_until(others.select_related("run").first)
        assert isinstance(call, ToolCall)
        return call

    return await orm.run_in_thread(look)


async def test_memories_that_a_run_is_given_at_its_start_are_private_data(
    studio: Studio, agent: Create
) -> None:
    await created(agent, memory_tokens=500)
    place = MemoryPlace(studio.workspace.pk, Scope.AGENT, "solo")
    await orm.run_in_thread(lambda: remember(place, "A letter cost 12.", by=Author(SYSTEM)))
    run_id = await studio.start(f"Send a letter. [[calls: read_letter {{}}]] {SEND}")
    [call] = await waiting(studio, run_id)
    assert reason(call) == REASON.replace("read_ledger", "recall")
    by = Author(SYSTEM, read_outsiders=True)
    await orm.run_in_thread(lambda: remember(place, "A letter wants the ledger.", by=by))
    run_id = await studio.start(f"Send a letter. [[calls: read_ledger {{}}]] {SEND}")
    [call] = await waiting(studio, run_id)
    assert "text by outsiders (memories)" in reason(call)
