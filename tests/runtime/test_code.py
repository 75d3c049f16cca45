"""Code that agents run: by the tool, and by the code in their answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agents.choices import RunStatus
from agents.journal.events import ModelAnswered
from agents.live.follow import wait_for_end
from agents.models import Agent, Artifact, Run, RunEvent, ToolCall
from agents.reads.outcome import read_outcome
from agents.runtime.toolset.big_results import MAX_BYTES
from heartbit_site.base import orm
from tests.api.server import Caller, key_for
from tests.pace import Patience, in_time
from tests.runtime.deciding import waiting
from tests.sizes import sized
from tests.tools.sandbox.attacks import GREEDY, SMALL
from tests.tools.sandbox.beside import MEGABYTES, SECONDS, beside
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.folder import ENTRIES

if TYPE_CHECKING:
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agents.output.results import ResultOut
    from tests.api.server import WebServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
ANSWER = "[[text: Look:\n```python\nprint(6 * 7)\n```\n]]"


def call(**arguments: object) -> str:
    return f"[[calls: run_code {json.dumps(arguments)}]] [[text: Done.]]"


async def called(studio: Studio, agent: Create, task: str, **settings: object) -> list[ToolCall]:
    """Run a task; its calls."""
    await orm.run_in_thread(lambda: agent(tools=("run_code", "read_artifact"), **settings))
    run = await studio.run(task)
    assert run.status == RunStatus.SUCCEEDED, run.error
    return await orm.run_in_thread(lambda: list(run.calls.order_by("id")))


async def test_what_a_program_prints_is_the_result(studio: Studio, agent: Create) -> None:
    [one] = await called(studio, agent, call(language="python", code="print(6 * 7)"))
    assert json.loads(one.result or "") == {
        "exit_code": 0,
        "stdout": "42\n",
        "sandbox": "bubblewrap",
    }


async def test_files_it_leaves_are_artifacts_that_the_next_program_reads(
    studio: Studio, agent: Create
) -> None:
    first = call(
        language="shell", code="tr a-z A-Z <in.txt >out/up.txt", files={"in.txt": "hi", "out/x": ""}
    )
    [one] = await called(studio, agent, first)
    shown = json.loads(one.result or "")
    [name] = shown["artifacts"].values()
    assert list(shown["artifacts"]) == ["out/up.txt"]

    def stored() -> bytes:
        return bytes(Artifact.objects.get(run=one.run_id, name=name).content)

    assert await orm.run_in_thread(stored) == b"HI"


async def test_a_file_that_is_no_text_is_fetched_as_it_is(
    studio: Studio, agent: Create, site: WebServer
) -> None:
    code = "open('dot.png', 'wb').write(bytes(range(256)))"
    [one] = await called(studio, agent, call(language="python", code=code))
    [name] = json.loads(one.result or "")["artifacts"].values()

    def fetched() -> tuple[bytes, str]:
        caller = Caller(site, key_for(studio.workspace))
        response = caller.get(f"/runs/{one.run_id}/artifacts/{name}")
        return response.content, response.headers["Content-Disposition"]

    content, disposition = await orm.run_in_thread(fetched)
    assert content == bytes(range(256))
    assert disposition == 'attachment; filename="dot.png"'
    assert name.endswith("-dot.png")


async def test_hosts_that_no_operator_opened_are_refused_and_open_ones_are_guarded(
    studio: Studio, agent: Create, settings: Settings
) -> None:
    """An open host is still no way to a private address. The battery reaches one."""
    settings.HEARTBIT_SANDBOX_HOSTS = ("localhost",)
    await orm.run_in_thread(lambda: agent(tools=("run_code_online",)))
    code = """
import urllib.error, urllib.request
try:
    urllib.request.urlopen("http://localhost")
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""
    online = {"language": "python", "code": code}
    asked = " ".join(
        f"[[{when}: run_code_online {json.dumps(online | {'hosts': hosts})}]]"
        for when, hosts in (("calls", ["example.org"]), ("then", ["LocalHost"]))
    )
    run = await studio.run(f"{asked} [[text: Done.]]")
    refused, guarded = await orm.run_in_thread(lambda: list(run.calls.order_by("id")))
    assert (refused.status, refused.effect) == ("error", "at_most_once")
    assert "may not reach example.org; open are: localhost." in (refused.result or "")
    assert "403" in (guarded.result or ""), guarded.result
    assert "public internet" in (guarded.result or "")


async def test_a_program_that_is_ended_says_so(studio: Studio, agent: Create) -> None:
    [one] = await called(studio, agent, call(language="python", code="print('x' * 3_000_000)"))
    assert json.loads((one.result or "").partition("\n[cut")[0][:40] + '"}')["ended"]


async def test_without_a_sandbox_nothing_runs(
    studio: Studio, agent: Create, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBIT_SANDBOX = "off"
    [one] = await called(studio, agent, call(language="python", code="print(1)"))
    assert one.status == "error"
    assert "HEARTBIT_SANDBOX" in (one.result or "")


class Broken(Bubblewrap):
    """One that does not hold."""

    name = "broken"

    async def problem(self) -> str | None:
        return "It is broken."


async def test_a_sandbox_that_does_not_hold_runs_nothing(
    studio: Studio, agent: Create, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBIT_SANDBOX = "broken"
    monkeypatch.setattr("tools.sandbox.choice.SANDBOXES", {"broken": Broken})
    [one] = await called(studio, agent, call(language="python", code="print(1)"))
    assert one.status == "error"
    assert "It is broken." in (one.result or "")


@pytest.mark.parametrize(
    ("mode", "task", "runs"),
    [
        ("never", f"Run it. {ANSWER}", 0),
        ("always", ANSWER, 1),
        ("auto", ANSWER, 0),
        ("auto", ANSWER.replace("Look:", "<!-- EXECUTE -->"), 1),
        ("task", f"Run it. {ANSWER}", 1),
        ("task", f"Explain it. {ANSWER}", 0),
    ],
)
async def test_code_in_an_answer_is_run_by_the_agent_s_mode(
    studio: Studio, agent: Create, mode: str, task: str, runs: int
) -> None:
    calls = await called(studio, agent, task, execution_mode=mode)
    assert len(calls) == runs
    for one in calls:
        assert json.loads(one.arguments) == {"language": "python", "code": "print(6 * 7)"}
        assert json.loads(one.result or "")["stdout"] == "42\n"

    def output() -> str:
        return Run.objects.filter(agent="solo").latest("created_at").output or ""

    assert "print(6 * 7)" in await orm.run_in_thread(output)


async def test_no_code_is_run_when_no_turn_is_left_to_read_its_result(
    studio: Studio, agent: Create
) -> None:
    assert not await called(studio, agent, ANSWER, execution_mode="always", max_turns=1)


async def test_code_in_an_answer_waits_for_a_person_like_any_call(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(
        lambda: agent(tools=("run_code",), execution_mode="always", approval="always")
    )
    run_id = await studio.start(ANSWER)
    [one] = await waiting(studio, run_id)
    assert one.tool == "run_code"


async def test_a_file_without_room_is_named_and_the_output_is_kept(
    studio: Studio, agent: Create
) -> None:
    code = (
        f"open('big', 'wb').write(bytes({MAX_BYTES + 1})); open('small', 'w').write('x'); print(1)"
    )
    [one] = await called(studio, agent, call(language="python", code=code))
    shown = json.loads(one.result or "")
    assert (shown["stdout"], list(shown["artifacts"])) == ("1\n", ["small"])
    [sentence] = shown["not_kept"]
    assert "'big'" in sentence


@pytest.mark.paced
async def test_a_run_feels_nothing_of_the_greedy_programs_beside_it(
    studio: Studio,
    agent: Create,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """A fork bomb, a memory hog and 10 GB of files, each of a run, beside a run with four turns."""
    monkeypatch.setattr("tools.builtin.code.Limits", lambda: SMALL)
    await orm.run_in_thread(lambda: agent(tools=("run_code", "calculate")))
    steps = " ".join(f'[[calls: calculate {{"expression": "{n}*7"}}]]' for n in (1, 2, 3))
    alone = await _timed(studio, f"{steps} [[text: Done.]]")
    greedy = [
        await studio.start(call(language="python", code=GREEDY[name]))
        for name in ("forks", "memory of many", "disk", "one file")
    ]
    await _until_started(greedy)
    beside = max([await _timed(studio, f"{steps} [[text: Done.]]") for _ in range(3)])
    for run_id in greedy:
        run = await wait_for_end(run_id, studio.host.window)
        assert run.status == RunStatus.SUCCEEDED, run.error
        one = await ToolCall.objects.aget(run=run)
        ended = json.loads(one.result or "")
        assert ended.get("exit_code") != 0 or "MemoryError" in ended["stderr"]
    record_property("note:ms_alone", round(1000 * alone))
    record_property("note:ms_beside_greedy", round(1000 * beside))
    in_time(beside, 2 * alone + 0.2)


@pytest.mark.paced
async def test_a_run_feels_nothing_of_programs_that_leave_many_files(
    studio: Studio, agent: Create, record_property: Callable[[str, object], None]
) -> None:
    many = sized(2 * ENTRIES, full=250_000)
    code = f"for name in range({many}):\n    open(str(name), 'w').close()"
    await orm.run_in_thread(lambda: agent(tools=("run_code", "calculate")))
    steps = " ".join(f'[[calls: calculate {{"expression": "{n}*7"}}]]' for n in (1, 2, 3))
    alone = await _timed(studio, f"{steps} [[text: Done.]]")
    async with beside() as felt:
        leaving = [await studio.start(call(language="python", code=code)) for _ in range(3)]
        await _until_started(leaving)
        longest = 0.0
        while await Run.objects.filter(pk__in=leaving, finished_at=None).aexists():
            longest = max(longest, await _timed(studio, f"{steps} [[text: Done.]]"))
    felt.note(record_property)
    record_property("most:seconds_of_a_run_alone", round(alone, 2))
    record_property("most:seconds_of_a_run_beside", round(longest, 2))
    for run_id in leaving:
        one = await ToolCall.objects.aget(run_id=run_id)
        assert "none is kept" in json.loads(one.result or "")["not_kept"][0]
    assert studio.host.process.control._late_at == float("-inf"), "a heartbeat was late"
    assert felt.megabytes < MEGABYTES
    in_time(felt.waited, SECONDS)
    in_time(longest, alone + SECONDS)


async def _until_started(runs: list[UUID]) -> None:
    asked = RunEvent.objects.filter(run__in=runs, type=ModelAnswered.type)
    patience = Patience(10)
    while await asked.acount() < len(runs):
        assert patience, "the models did not answer"
        await asyncio.sleep(0.01)


async def _timed(studio: Studio, task: str) -> float:
    """Run a task whose three calls go well; its seconds."""
    began = time.monotonic()
    run = await studio.run(task)
    calls = await orm.run_in_thread(lambda: list(run.calls.order_by("id")))
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert [one.result for one in calls] == ["7", "14", "21"]
    return time.monotonic() - began


async def result_of(studio: Studio, agent: Create, task: str, **settings: object) -> ResultOut:
    """Return the result of a task as every interface has it."""
    await orm.run_in_thread(lambda: agent(tools=("run_code",), **settings))
    run = await studio.run(task)
    result = await orm.run_in_thread(lambda: read_outcome(run.pk).result)
    assert result is not None
    return result


FAILING = "[[text: Look:\n```python\nopen('a.txt', 'w').write('hi')\nprint(1)\nexit(3)\n```\n]]"


async def test_a_program_s_end_is_the_result_of_the_run_that_is_to_execute_it(
    studio: Studio, agent: Create
) -> None:
    result = await result_of(studio, agent, f"Run it. {FAILING}", execution_mode="task")
    assert (result.status, result.error) == ("failure", "The program ended with exit code 3.")
    assert result.data == {
        "output": "1\n",
        "error": "",
        "code": "open('a.txt', 'w').write('hi')\nprint(1)\nexit(3)",
        "exit_code": 3,
        "executed": True,
    }
    assert result.structured is None
    kinds = {one.kind: one for one in result.artifacts}
    assert (kinds["log"].name, kinds["log"].content) == ("log-1", "1\n")
    assert (kinds["file"].name[-6:], kinds["file"].content) == ("-a.txt", "hi")


@pytest.mark.parametrize(
    ("mode", "task", "status", "executed"),
    [
        ("task", f"Run it. {ANSWER}", "success", True),
        ("task", f"Explain it. {ANSWER}", "success", False),
        ("task", f"Explain it. {call(language='python', code='exit(1)')}", "success", True),
        ("always", call(language="python", code="exit(1)"), "failure", True),
        ("never", call(language="python", code="exit(1)"), "success", None),
    ],
)
async def test_only_code_that_was_to_be_executed_decides(
    studio: Studio, agent: Create, mode: str, task: str, status: str, *, executed: bool | None
) -> None:
    result = await result_of(studio, agent, task, execution_mode=mode)
    data = result.data if isinstance(result.data, dict) else {"executed": None}
    assert (result.status, data["executed"]) == (status, executed)


async def test_a_long_output_is_in_the_data_as_a_whole(studio: Studio, agent: Create) -> None:
    code = call(language="python", code="print('x' * 50_000); exit(1)")
    result = await result_of(studio, agent, code, execution_mode="always")
    assert isinstance(result.data, dict)
    assert (result.status, result.data["output"]) == ("failure", "x" * 50_000 + "\n")


async def test_a_block_that_cannot_be_run_is_refused_by_name(studio: Studio, agent: Create) -> None:
    answer = "[[text: Look:\n```ruby\nputs 1\n```\n]]"
    result = await result_of(studio, agent, answer, execution_mode="always")
    assert result.status == "failure"
    assert "The program was not run" in (result.error or "")
    assert "is not one of python, javascript, typescript, shell" in (result.error or "")
