"""Runs of the library on the real engine: answers, teams, text, events, the blackboard."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import httpx
import pytest
from pydantic import BaseModel, field_validator

from agents.actions.runs import cancel_run
from agents.errors import AgentsChangedError
from agents.models import Agent, Run, WorkerHeartbeat, WorkFile
from heartbit_site.base import orm
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.library import AnswerError, RunFailedError, tool
from memory.models import MemoryItem
from memory.providers import calls
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from heartbit_site.library import Event, Heartbit, Result
    from tests.fleet import WireServer


@tool(effect="pure")
def people_of(city: str) -> int:
    """How many people live in a city."""
    return {"Bonn": 330_000}[city]


def test_an_answer_with_all_that_is_known_of_it(heartbit: Heartbit) -> None:
    solo = heartbit.agent("solo", "Be brief.", tools=[people_of])
    result = solo.run('[[calls: people_of {"city": "Bonn"}]] [[text: Many.]]')
    assert (result.text, result.status, result.error) == ("Many.", "succeeded", "")
    assert result.expect() is result
    assert result.structured is None
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0
    assert result.cost is None, "the fake model has no price"
    types = [event.type for event in result.events]
    assert types == [
        "run.created",
        "run.started",
        "model.answered",
        "tool.finished",
        "model.answered",
        "run.succeeded",
    ]
    assert result.events[3].data.content == "330000"
    assert {event.agent for event in result.events} == {"solo"}
    row = Run.objects.get(pk=result.run_id)
    assert (row.home, row.status) == ("local", "succeeded")


def test_two_runs_share_the_host_and_the_agents_rows(heartbit: Heartbit) -> None:
    solo = heartbit.agent("solo", "Be brief.")
    runs = [Run.objects.get(pk=solo.run("[[text: Yes.]]").run_id) for _ in range(2)]
    assert runs[0].version_id == runs[1].version_id
    started = [run.events.get(type="run.started").payload["worker"] for run in runs]
    assert started[0] == started[1]


def test_the_admins_agents_are_not_touched(heartbit: Heartbit) -> None:
    before = list(Agent.objects.filter(origin="").values())
    result = heartbit.agent("researcher", "Another one.").run("[[text: Mine.]]")
    assert list(Agent.objects.filter(origin="").values()) == before
    version = Run.objects.select_related("version").get(pk=result.run_id).version
    assert version.snapshot["system_prompt"] == "Another one."


def test_a_failed_run_is_a_result_with_its_sentence(heartbit: Heartbit) -> None:
    result = heartbit.agent("solo", "Be brief.").run("[[error: 400]]")
    assert (result.status, result.succeeded, result.text) == ("failed", False, "")
    assert "openai" in result.error
    with pytest.raises(RunFailedError, match="openai"):
        result.expect()


def test_options_hold(heartbit: Heartbit) -> None:
    solo = heartbit.agent("solo", "Be brief.", tools=["current_time"], max_turns=2)
    result = solo.run("[[calls: current_time {}]] [[rounds: 9]]")
    assert result.error == "Stopped after 2 turns (max_turns of solo)."


def hosts() -> int:
    return [thread.name for thread in threading.enumerate()].count("heartbit")


class City(BaseModel):
    name: str
    people: int
    size: Literal["small", "large"] = "large"


class Capital(City):
    @field_validator("name")
    @classmethod
    def is_known(cls, name: str) -> str:
        if name != "Berlin":
            raise ValueError("not a capital")
        return name


ANSWER = '[[calls: __respond__ {"name": "Bonn", "people": 330000}]]'


class TestStructured:
    def test_by_a_schema(self, heartbit: Heartbit) -> None:
        solo = heartbit.agent("solo", "Be brief.").response_schema(City.model_json_schema())
        assert solo.run(ANSWER).structured == {"name": "Bonn", "people": 330_000}

    def test_by_a_class(self, heartbit: Heartbit) -> None:
        solo = heartbit.agent("solo", "Be brief.").response_schema(City)
        assert solo.run(ANSWER).structured == City(name="Bonn", people=330_000)

    def test_by_a_class_that_wants_more_than_its_schema_says(self, heartbit: Heartbit) -> None:
        solo = heartbit.agent("solo", "Be brief.").response_schema(Capital)
        with pytest.raises(AnswerError, match="the class: name: Value error, not a capital"):
            solo.run(ANSWER)


class TestTeam:
    TASK = (
        '[[delegate: {"agent": "researcher", "task": "[[text: Facts.]]"},'
        ' {"agent": "analyst", "task": "[[calls: people_of {\\"city\\": \\"Bonn\\"}]]'
        ' [[text: Many.]]"}, {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Together.]]'
    )

    def test_three_work_for_an_orchestrator_and_share_a_blackboard(
        self, heartbit: Heartbit
    ) -> None:
        team = (
            heartbit.agent("researcher", "Find facts.", description="Finds facts.")
            .agent("analyst", "Count.", tools=[people_of])
            .agent("writer", "Write.")
            .orchestrator("Lead the team.", max_turns=6)
            .context({"type": "sliding_window", "max_tokens": 50_000})
            .blackboard({"topic": {"name": "bees"}})
        )
        result = team.run(self.TASK)
        assert result.expect().text == "Together."
        assert result.blackboard == {
            "topic": {"name": "bees"},
            "agent:researcher": "Facts.",
            "agent:analyst": "Many.",
            "agent:writer": "Prose.",
        }
        assert {event.agent for event in result.events} == {
            "orchestrator",
            "researcher",
            "analyst",
            "writer",
        }
        runs = Run.objects.filter(root_id=result.run_id).select_related("version")
        assert sum(run.output_tokens for run in runs) == result.usage.output_tokens
        snapshots = [run.version.snapshot for run in runs]
        assert len(snapshots) == 4
        assert {snapshot["context_strategy"]["type"] for snapshot in snapshots} == {
            "sliding_window"
        }

    def test_two_agents_have_an_orchestrator_anyway(self, heartbit: Heartbit) -> None:
        team = heartbit.agent("one", "Work.").agent("two", "Work.")
        result = team.run('[[delegate: {"agent": "two", "task": "[[text: Done.]]"}]] [[text: So.]]')
        assert result.text == "So."
        assert result.blackboard == {"agent:two": "Done."}

    def test_members_use_the_blackboard_without_being_given_its_tools(
        self, heartbit: Heartbit
    ) -> None:
        team = heartbit.agent("one", "Work.").agent("two", "Work.", tools=[people_of])
        result = team.run(
            '[[delegate: {"agent": "two", "task": "[[calls: blackboard_write'
            ' {\\"key\\": \\"note\\", \\"value\\": \\"Here.\\"}]] [[text: Done.]]"}]] [[text: So.]]'
        )
        assert result.expect().blackboard == {"note": "Here.", "agent:two": "Done."}

    def test_nobody_named_is_the_default_team(self, heartbit: Heartbit) -> None:
        result = heartbit.response_schema(City).run(
            '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]]'
            ' [[then: __respond__ {"name": "Bonn", "people": 330000}]]'
        )
        assert result.expect().structured.name == "Bonn"
        assert result.blackboard == {"agent:writer": "Prose."}

    def test_an_orchestrator_may_work_alone(self, heartbit: Heartbit) -> None:
        assert heartbit.orchestrator("Work alone.").run("[[text: Alone.]]").text == "Alone."
        with pytest.raises(ConfigurationError, match="'orchestrator': system_prompt is missing"):
            heartbit.orchestrator().run("Hello.")


def test_the_tools_of_agents_read_the_first_entries(heartbit: Heartbit) -> None:
    solo = heartbit.agent("solo", "Be brief.", tools=["blackboard_read", "blackboard_write"])
    result = solo.blackboard({"topic": "bees"}).run(
        '[[calls: blackboard_read {"key": "topic"}]]'
        '[[then: blackboard_write {"key": "topic", "value": "wasps"}]] [[text: Done.]]'
    )
    finished = [event.data.content for event in result.events if event.type == "tool.finished"]
    assert finished[0] == "bees"
    assert result.blackboard == {"topic": "wasps"}


class TestCallbacks:
    def test_text_comes_in_order_and_in_this_thread(self, heartbit: Heartbit) -> None:
        pieces: list[str] = []
        threads: set[int] = set()

        def listen(text: str) -> None:
            pieces.append(text)
            threads.add(threading.get_ident())

        solo = heartbit.agent("solo", "Be brief.").on_text(listen)
        result = solo.run("[[text: One two three four.]] [[chunks: 4]] [[stream: 60]]")
        assert len(pieces) == 4
        assert "".join(pieces) == result.text == "One two three four."
        assert threads == {threading.get_ident()}

    def test_a_repeated_call_voids_its_text(
        self, heartbit: Heartbit, wire_server: WireServer
    ) -> None:
        key = f"restart-{secrets.token_hex(4)}"
        told: list[str | None] = []

        def listen(text: str) -> None:
            if not told:  # a piece of the first call has come: now it fails
                httpx.post(f"{wire_server.url}/release/{key}").raise_for_status()
            told.append(text)

        solo = heartbit.agent("solo", "Be brief.", retry_base_delay_ms=1).on_text(
            listen, on_restart=lambda: told.append(None)
        )
        result = solo.run(
            "[[text: One two three four.]] [[chunks: 8]]"
            f" [[event: server_error times=1 held=1]] [[run: {key}]]"
        )
        assert result.text == "One two three four."
        assert told[0] is not None, "the first call had begun to answer"
        # If the journal is read before the second call's pieces, the first ones stay valid: the
        # answer begins with them.
        begins = told.index(None) + 1 if None in told else 0
        assert "".join(filter(None, told[begins:])) == result.text

    def test_the_text_of_sub_agents_is_not_streamed(self, heartbit: Heartbit) -> None:
        pieces: list[str] = []
        team = heartbit.agent("one", "Work.").agent("two", "Work.").on_text(pieces.append)
        team.run('[[delegate: {"agent": "two", "task": "[[text: Hidden.]]"}]] [[text: Shown.]]')
        assert "".join(pieces) == "Shown."

    async def test_events_come_once_and_async_callbacks_are_awaited(
        self, heartbit: Heartbit
    ) -> None:
        told: list[Event] = []

        async def listen(event: Event) -> None:
            await asyncio.sleep(0)
            told.append(event)

        solo = heartbit.agent("solo", "Be brief.").on_event(listen)
        result = await solo.arun("[[text: Yes.]]")
        assert tuple(told) == result.events
        assert [event.seq for event in told] == list(range(1, len(told) + 1))

    def test_an_error_of_a_callback_is_raised_and_the_run_cancelled(
        self, heartbit: Heartbit
    ) -> None:
        seen: list[Event] = []

        def listen(event: Event) -> None:
            seen.append(event)
            if event.type == "run.started":
                raise ZeroDivisionError("mine")

        solo = heartbit.agent("solo", "Be brief.").on_event(listen)
        with pytest.raises(ZeroDivisionError, match="mine"):
            solo.run("[[hang: headers]]")
        assert Run.objects.get(pk=seen[0].run_id).status == "cancelled"


class TestAsync:
    async def test_several_at_once(self, heartbit: Heartbit) -> None:
        solo = heartbit.agent("solo", "Be brief.")
        results = await asyncio.gather(
            *(solo.arun(f"[[text: Number {number}.]] [[latency: 50]]") for number in range(8))
        )
        assert [result.text for result in results] == [f"Number {number}." for number in range(8)]

    async def test_cancelling_it_cancels_the_run(self, heartbit: Heartbit) -> None:
        started = asyncio.Event()
        seen: list[Event] = []

        def listen(event: Event) -> None:
            seen.append(event)
            if event.type == "run.started":
                started.set()

        solo = heartbit.agent("solo", "Be brief.").on_event(listen)
        task = asyncio.create_task(solo.arun("[[hang: headers]]"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        row = await orm.run_in_thread(lambda: Run.objects.get(pk=seen[0].run_id))
        assert row.status == "cancelled"

    async def test_a_block_closes_the_host_unless_others_use_it(self, heartbit: Heartbit) -> None:
        async with heartbit.agent("solo", "Be brief.") as outer:
            async with outer as inner:
                assert (await inner.arun("[[text: One.]]")).succeeded
            assert hosts() == 1
            assert (await outer.arun("[[text: Two.]]")).succeeded
        assert hosts() == 0
        assert (await outer.arun("[[text: Three.]]")).succeeded
        assert hosts() == 1, "it stays for the next one"
        await outer.aclose()
        assert hosts() == 0
        mine = WorkerHeartbeat.objects.filter(name__endswith=f":{os.getpid()}")
        row = await orm.run_in_thread(lambda: mine.last())
        assert row is not None
        assert row.left_at is not None, "it signed off"


class TestConversation:
    def test_each_message_knows_those_before_it(self, heartbit: Heartbit) -> None:
        pieces: list[str] = []
        solo = heartbit.agent("solo", "Be brief.").on_text(pieces.append)
        thread = solo.conversation(title="Bees")
        assert thread.say("[[text: One.]]").text == "One."
        second = thread.say("[[text: Two.]]")
        assert second.usage.input_tokens > solo.run("[[text: Two.]]").usage.input_tokens
        assert "".join(pieces) == "One.Two.Two."
        row = Run.objects.select_related("conversation").get(pk=second.run_id)
        assert row.conversation is not None
        assert (row.conversation.pk, row.conversation.title) == (thread.id, "Bees")

    def test_it_goes_on_with_an_edited_program(self, heartbit: Heartbit) -> None:
        thread = heartbit.agent("solo", "Be brief.").conversation()
        thread.say("[[text: One.]]")
        later = heartbit.agent("other", "Be long.").conversation(id=thread.id)
        result = later.say("[[text: Two.]]")
        row = Run.objects.select_related("version").get(pk=result.run_id)
        assert (row.agent, row.conversation_id) == ("other", thread.id)
        assert row.version.snapshot["system_prompt"] == "Be long."

    async def test_messages_at_once_are_answered_one_after_the_other(
        self, heartbit: Heartbit
    ) -> None:
        thread = heartbit.agent("solo", "Be brief.").conversation()
        first, second = await asyncio.gather(
            thread.asay("[[text: One.]] [[latency: 50]]"), thread.asay("[[text: Two.]]")
        )
        assert (first.text, second.text) == ("One.", "Two.")
        runs = await orm.run_in_thread(
            lambda: list(Run.objects.filter(conversation=thread.id).order_by("started_at"))
        )
        assert len(runs) == 2
        assert runs[0].finished_at is not None
        assert runs[1].started_at is not None
        assert runs[0].finished_at <= runs[1].started_at

    def test_one_that_is_gone_is_said(self, heartbit: Heartbit) -> None:
        thread = heartbit.agent("solo", "Be brief.").conversation(
            id="01a20102-6982-7720-90e8-95d623ee6336"
        )
        with pytest.raises(ConfigurationError, match="There is no conversation 01a20102"):
            thread.say("Hello.")


class TestRefusals:
    def test_before_a_row_is_written(self, heartbit: Heartbit) -> None:
        def calculate(a: int) -> int:
            """Count."""
            return a

        before = Run.objects.count()
        refused = [
            (heartbit.agent("a", "A.", tools=["htp_get"]), "Hi", "did you mean http_get?"),
            (heartbit.agent("a", "A.", tools=[calculate]), "Hi", "Two tools have the name 'calc"),
            (heartbit.agent("a", "A.", tools=["http_get", "http_get"]), "Hi", "twice"),
            (heartbit.agent("a", "A."), "  ", "is empty"),
        ]
        for builder, task, sentence in refused:
            with pytest.raises(Exception, match=sentence) as caught:
                builder.run(task)
            assert "\n" not in str(caught.value)
        assert Run.objects.count() == before

    def test_an_unknown_workspace(self, heartbit: Heartbit) -> None:
        other = type(heartbit)(workspace="defalt").agent("a", "A.")
        with pytest.raises(ConfigurationError, match="did you mean default"):
            other.run("Hello.")


def test_an_edited_tool_is_published_anew(heartbit: Heartbit) -> None:
    """The same program with another text for its tool: what the model is offered is the new one."""

    def describe(text: str) -> object:
        def edited_tool(city: str) -> str:
            return city

        edited_tool.__doc__ = text
        return tool(effect="pure")(edited_tool)

    from tools.definitions.registry import registry  # noqa: PLC0415

    task = '[[calls: edited_tool {"city": "Bonn"}]] [[text: Done.]]'
    results = []
    for text in ("The first text.", "The second text."):
        registry.pop("edited_tool", None)  # as in a new process
        results.append(heartbit.agent("solo", "Work.", tools=[describe(text)]).run(task))  # type: ignore[list-item]
    contents = [
        [event.data.content for event in result.events if event.type == "tool.finished"]
        for result in results
    ]
    assert contents == [["Bonn"], ["Bonn"]]
    versions = {Run.objects.get(pk=result.run_id).version_id for result in results}
    assert len(versions) == 2


class TestTheTeamIsLookedUpOnce:
    def test_until_another_program_publishes_it_with_its_own_tools(
        self, heartbit: Heartbit
    ) -> None:
        solo = heartbit.agent("solo", "Be brief.", tools=[people_of])
        first = Run.objects.get(pk=solo.run("[[text: Yes.]]").run_id)
        again = Run.objects.get(pk=solo.run("[[text: Yes.]]").run_id)
        assert first.version_id == again.version_id
        agent = first.version.agent
        version = first.version
        snapshot = dict(version.snapshot)
        snapshot["tools"] = [{**tool, "hash": "another"} for tool in snapshot["tools"]]
        version.pk, version.number, version.snapshot = None, version.number + 1, snapshot
        version.hash, version._state.adding = secrets.token_hex(32), True
        version.save(force_insert=True)
        Agent.objects.filter(pk=agent.pk).update(current_version=version)
        result = solo.run('[[calls: people_of {"city": "Bonn"}]] [[text: Many.]]')
        assert Run.objects.filter(version__agent=agent).count() == 3, "no run of the old version"
        [content] = [one.data.content for one in result.events if one.type == "tool.finished"]
        assert content == "330000"

    def test_until_its_rows_are_gone(self, heartbit: Heartbit) -> None:
        solo = heartbit.agent("solo", "Be brief.")
        first = Run.objects.select_related("version").get(pk=solo.run("[[text: Yes.]]").run_id)
        agent = Agent.objects.get(pk=first.version.agent_id)
        Agent.objects.filter(pk=agent.pk).update(origin="somewhere-else")
        assert solo.run("[[text: Again.]]").text == "Again."

    def test_and_other_versions_start_nothing_however_often(self, heartbit: Heartbit) -> None:
        run_id = heartbit.agent("solo", "Be brief.").run("[[text: Yes.]]").run_id
        agent = Run.objects.select_related("version__agent__workspace").get(pk=run_id).version.agent
        for _ in range(12):  # PostgreSQL has a plan for all values by then
            with pytest.raises(AgentsChangedError):
                start_run(agent.workspace, "x", agent="solo", origin=agent.origin, versions=[0, 1])
        assert Run.objects.filter(version__agent=agent).count() == 1

    def test_for_each_of_two_workspaces(self, heartbit: Heartbit) -> None:
        other = Workspace.objects.create(slug=f"t-{secrets.token_hex(4)}", name="other")
        solo = heartbit.agent("solo", "Be brief.")
        elsewhere = replace(solo, workspace=other.slug)
        for builder, slug in ((solo, solo.workspace), (elsewhere, other.slug)) * 2:
            run = Run.objects.get(pk=builder.run("[[text: Yes.]]").run_id)
            assert run.workspace.slug == slug


def test_events_come_with_callbacks_and_without(heartbit: Heartbit) -> None:
    team = heartbit.agent("one", "One.").agent("two", "Two.")
    task = (
        """[[delegate: {"agent": "one", "task": "[[text: A.]]"}, {"agent": "two", "task": "B"}]]"""
    )
    heard: list[Event] = []
    followed = team.on_event(heard.append).run(task)
    unfollowed = team.run(task)

    def journals(result: Result) -> list[list[str]]:
        found: dict[object, list[str]] = {}
        for event in result.events:
            found.setdefault(event.run_id, []).append(f"{event.seq} {event.agent} {event.type}")
        return sorted(found.values())

    assert journals(followed) == journals(unfollowed)
    assert len(journals(unfollowed)) == 3
    assert tuple(heard) == followed.events


def test_a_call_that_waits_is_logged_also_without_callbacks(
    heartbit: Heartbit, caplog: pytest.LogCaptureFixture
) -> None:
    solo = heartbit.agent("solo", "Be brief.", tools=[people_of], approval="always")
    run = threading.Thread(
        target=lambda: solo.run('[[calls: people_of {"city": "Bonn"}]] [[text: Many.]]')
    )
    run.start()
    wait_until(lambda: "people_of of solo waits for a decision" in caplog.text, what="the log")
    found = Run.objects.get(workspace__slug=heartbit.workspace, finished_at=None)
    cancel_run(found.workspace, found.pk, reason="enough")
    run.join(30)
    assert not run.is_alive()


def test_costs_are_summed_and_free_is_nought(heartbit: Heartbit) -> None:
    result = heartbit.agent("solo", "Be brief.", model="openai:gpt-4o").run("[[text: Yes.]]")
    assert result.cost is not None
    assert result.cost > Decimal(0)


def test_a_program_gives_files(heartbit: Heartbit, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "app.py").write_text("print(1)\n")
    solo = heartbit.agent("solo", "Be brief.", tools=["read", "glob"])
    task = "[[calls: glob {}]] [[text: Read.]]"
    result = solo.run(task, files={"a.txt": "text", "b.bin": b"\0", "code": tmp_path / "repo"})
    assert result.expect() is result
    files = WorkFile.objects.filter(root=result.run_id)
    found = {file.path: bytes(file.content or b"") for file in files}
    assert found == {"a.txt": b"text", "b.bin": b"\0", "code/app.py": b"print(1)\n"}
    said = solo.conversation().say("[[text: x]]", files={"c": b"1"})
    assert WorkFile.objects.filter(root=said.run_id, path="c").exists()
    with pytest.raises(ConfigurationError, match="none cannot be read"):
        solo.run(task, files={"x": tmp_path / "none"})


def test_what_was_said_is_remembered_in_the_process_without_a_worker(
    heartbit: Heartbit, settings: Settings
) -> None:
    settings.HEARTBIT_MEMORY_PROVIDER = calls.IN_PROCESS
    calls._load.cache_clear()
    solo = heartbit.agent("solo", "Be brief.", memory_tokens=500, extract_memories=True)
    told = solo.run("I live in Bonn.")
    follow_up = Run.objects.get(extraction__source=told.run_id)
    assert (follow_up.home, follow_up.status) == ("local", "succeeded")
    result = solo.on_event(lambda _: None).run("Which train goes to Bonn?")
    [known] = Run.objects.get(pk=result.run_id).recalled_memories.all()
    assert (known.text, known.title) == ("I live in Bonn.", "InProcessMemories")
    assert not MemoryItem.objects.filter(workspace__slug=heartbit.workspace).exists()


def test_what_a_program_keeps_outlives_its_runs(heartbit: Heartbit) -> None:
    state = heartbit.state(agent="solo")
    state.set("cursor", {"page": 3}, ttl_seconds=60)
    solo = heartbit.agent("solo", "Be brief.", tools=["state_get"])
    result = solo.run('[[calls: state_get {"key": "cursor"}]] [[text: Done.]]')
    finished = next(event for event in result.events if event.type == "tool.finished")
    assert finished.data.content == '{"found":true,"value":{"page":3}}'
    assert (state.get("cursor"), state.exists("cursor")) == ({"page": 3}, True)
    assert not heartbit.state().exists("cursor"), "another scope"
    assert (state.delete("cursor"), state.delete("cursor")) == (True, False)
    assert state.get("cursor", "none") == "none"


def test_a_program_fills_and_searches_a_collection(heartbit: Heartbit) -> None:
    shop = heartbit.collection("shop", dimensions=2)
    shop.upsert("tea", "Green tea", vector=[1, 0], metadata={"kind": "drink"})
    shop.upsert("cup", "A cup", vector=[0, 1])
    [hit] = shop.search(vector=[1, 0.1], limit=1)
    assert (hit.item.key, hit.item.metadata) == ("tea", {"kind": "drink"})
    assert shop.search("cup")[0].item.key == "cup"
    assert shop.delete("tea", "none") == 1
    shop.drop()
