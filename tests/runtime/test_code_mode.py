"""Scripts of agents in code mode: the whole way, with the real interpreter and journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.actions.decide_call import approve_call, deny_call, edit_call
from agents.actions.fork_run import Edits
from agents.actions.runs import cancel_run
from agents.choices import Placement, RunStatus
from agents.journal.events import ScriptCalled, encode
from agents.live.follow import wait_for_end
from agents.models import Agent, Run, RunEvent, ToolCall
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runtime.conftest import Studio
from tests.runtime.deciding import ANNA, waiting
from tests.starts import fork_run
from tools.definitions.registry import registry

Create = Callable[..., Agent]


def script(text: str, *others: str) -> str:
    calls = ", ".join([f"run_script {json.dumps({'script': text})}", *others])
    return f"[[calls: {calls}]] [[text: Done.]]"


@pytest.fixture
def stored() -> Iterator[list[str]]:
    """Lines that the tool ``keep``, which acts outside, has written."""
    done: list[str] = []

    def keep(text: str) -> str:
        """Keep a text."""
        done.append(text)
        return f"kept {text}"

    spec = spec_of(keep, effect=Effect.AT_MOST_ONCE)
    registry.register(spec)
    yield done
    del registry._specs[spec.name]


async def calls(run: Run) -> list[tuple[str, str, str]]:
    """The calls of a run: id, status, result."""

    def read() -> list[tuple[str, str, str]]:
        rows = run.calls.order_by("id").values_list("call_id", "status", "result")
        return [(call_id, status, result or "") for call_id, status, result in rows]

    return await orm.run_in_thread(read)


async def ran(studio: Studio, text: str) -> list[tuple[str, str, str]]:
    run = await studio.run(script(text))
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done."), run.error
    return await calls(run)


async def test_what_a_script_prints_is_kept_within_the_bound_of_a_result(
    studio: Studio, agent: Create
) -> None:
    """Once for the whole script, which may print before each of its calls."""
    await orm.run_in_thread(lambda: agent(tools=["calculate"], code_mode=True))
    text = "for n in range(20):\n    print('ü' * 5_000)\n    await calculate('1+1')\nprint('end')"
    run = await studio.run(script(text))
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done."), run.error

    def read() -> list[str]:
        events = RunEvent.objects.filter(run=run, type="script.called").order_by("seq")
        return [event.payload["printed"] for event in events]

    printed = await orm.run_in_thread(read)
    assert len(printed) == 20
    assert 32_768 <= len("".join(printed).encode()) < 32_768 + 100
    assert "".join(printed).count("[cut: more was printed") == 1
    (call, *_) = await calls(run)
    assert "[cut: more was printed" in call[2] or "[cut: the first" in call[2]


SUMS = """
import asyncio
print("sums")
first = await calculate("1+1")
both = await asyncio.gather(calculate(f"{first}*10"), calculate(expression="3*7"))
int(both[0]) + int(both[1])
"""


async def test_a_script_calls_tools_one_after_the_other_and_together(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), code_mode=True))
    assert await ran(studio, SUMS) == [
        ("1.0", "ok", "sums\n41"),
        ("1.0.0", "ok", "2"),
        ("1.0.1", "ok", "20"),
        ("1.0.2", "ok", "21"),
    ]


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("x = = 1", "invalid", "line 1"),
        ("x = 1\nawait calculate(5)", "invalid", "script.py:2:17"),
        ("await calculat('1')", "invalid", "calculat"),
        ("x = 1\n[][x]", "error", "line 2"),
        ("calculate('1')", "error", "Not awaited"),
        ("await calculate(**{'expression': '6*7', **({'n': 1} if 0 else {})})", "ok", "42"),
        ("await calculate('1 +')", "error", "line 1"),
        (
            "try:\n    await calculate('1 +')\nexcept RuntimeError as e:\n    print('no')",
            "ok",
            "no",
        ),
        ("print(open('/etc/passwd').read())", "error", "PermissionError"),
        ("import time\ntime.time()", "error", "no clock"),
        ("def f(n):\n    return f(n + 1)\nf(0)", "error", "RecursionError"),
        ("x = [0] * 100_000_000", "error", "MemoryError"),
    ],
)
async def test_the_model_reads_what_is_wrong_with_a_script(
    studio: Studio, agent: Create, text: str, status: str, says: str
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), code_mode=True))
    [(_, found, result), *_] = await ran(studio, text)
    assert (found, says in result) == (status, True), result


KEEP = "a = await keep('a')\nb = await keep('b')\nc = await keep('c')\nprint(a, b, c)"


async def approve(call: ToolCall) -> None:
    await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))


async def test_an_approval_in_a_script_suspends_it_and_another_process_continues(
    studio: Studio, agent: Create, stored: list[str]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("keep",), code_mode=True, approval="effects"))
    run_id = await studio.start(script(KEEP))
    [first] = await waiting(studio, run_id)
    assert (first.call_id, first.tool, first.run.worker_id) == ("1.0.0", "keep", None)
    other = Studio(LocalHost(slots=20), studio.workspace)
    await other.host.start()
    try:
        assert stored == []
        await approve(first)
        other.host.execute(run_id)
        [second] = await waiting(other, run_id, 2)
        arguments = json.dumps({"text": "B"})
        await orm.run_in_thread(
            lambda: edit_call(second, digest=second.digest, by=ANNA, arguments=arguments)
        )
        other.host.execute(run_id)
        [third] = await waiting(other, run_id, 3)
        await orm.run_in_thread(lambda: deny_call(third, digest=third.digest, by=ANNA, reason="no"))
        other.host.execute(run_id)
        run = await wait_for_end(run_id, other.host.window)
    finally:
        await other.host.stop()
    assert stored == ["a", "B"]
    [(_, status, result), *inner] = await calls(run)
    assert (status, "PermissionError" in result, "line 3" in result) == ("error", True, True)
    assert [one[:2] for one in inner] == [("1.0.0", "ok"), ("1.0.1", "ok"), ("1.0.2", "refused")]


async def test_one_script_continues_while_another_waits_for_a_person(
    studio: Studio, agent: Create, stored: list[str]
) -> None:
    await orm.run_in_thread(
        lambda: agent(tools=("keep", "calculate"), code_mode=True, approval="effects")
    )
    both = script(KEEP, f"run_script {json.dumps({'script': SUMS})}")
    run_id = await studio.start(both)
    await waiting(studio, run_id)
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    assert ("1.1", "ok", "sums\n41") in await calls(run)
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough", by=ANNA))
    assert (await wait_for_end(run_id, studio.host.window)).status == RunStatus.CANCELLED
    assert stored == []


async def test_the_snapshot_is_in_the_journal(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), code_mode=True))
    run = await studio.run(script(SUMS))

    def payloads() -> list[dict[str, Any]]:
        found = RunEvent.objects.filter(run=run, type=ScriptCalled.type).order_by("seq")
        return list(found.values_list("payload", flat=True))

    first, second = await orm.run_in_thread(payloads)
    assert first["snapshot"].startswith("monty-")
    assert len(first["snapshot"]) < 8_000
    assert (first["first"], second["first"], len(second["calls"])) == (0, 1, 2)


async def test_a_snapshot_of_another_version_is_not_needed(
    studio: Studio, agent: Create, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("keep",), code_mode=True))
    monkeypatch.setattr("tools.scripts.interpreter.MAX_SNAPSHOT", 0)
    [(_, status, result), *_] = await ran(studio, KEEP)
    assert (status, result) == ("ok", "kept a kept b kept c")
    assert stored == ["a", "b", "c"], "no call of a script that runs again is repeated"


async def test_a_script_never_ends_a_run_s_time(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), code_mode=True, timeout_seconds=1))
    run = await studio.run(script("while True:\n    await calculate('1+1')"))
    assert (run.status, (run.error or {})["limit"]) == (RunStatus.FAILED, "timeout_seconds")


async def test_a_long_catalogue_is_searched(studio: Studio, agent: Create) -> None:
    names = [f"weigh_parcel_{number}" for number in range(60)]

    def weigh(parcel: str) -> str:
        """Weigh a parcel before it is sent, in grams."""
        return "12"

    for name in names:
        registry.register(spec_of(weigh, name=name, effect=Effect.PURE))
    try:
        await orm.run_in_thread(lambda: agent(tools=("calculate", *names), code_mode=True))
        run = await studio.run(
            '[[calls: find_tools {"query": "arithmetic expression", "most": 1}]] [[text: Done.]]'
        )
        [(_, status, result)] = await calls(run)
        assert (status, result.startswith("async def calculate(")) == ("ok", True)
    finally:
        for name in names:
            del registry._specs[name]


async def test_a_fork_keeps_the_calls_of_a_script_with_their_turn(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), code_mode=True))
    run = await studio.run(script(SUMS))

    def fork() -> Run:
        made = fork_run(run, 1, edits=Edits(message="Again?"), home=Placement.LOCAL, by=ANNA)
        return Run.objects.get(pk=made)

    forked = await orm.run_in_thread(fork)
    assert await calls(forked) == await calls(run)


def test_an_event_of_a_script_is_read_as_it_was_written() -> None:
    event = ScriptCalled("1.0", 0, (), "monty-1:x", "hi", 3)
    assert encode(event)["type"] == "script.called"
    assert event.call_ids == ()
