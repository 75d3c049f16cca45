"""Every way a call can go: an answer for the model each time, and never the end of the run."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from heartbit_site.base.toolspec import ChildTask, Effect, Suspension, ToolContext, WaitOutcome
from tests.tools.calls import EXECUTOR, call, context, made
from tools.pipeline import Ask, Held, Prepared, Waiting, execute_here, prepare, resume
from tools.registry import Registry
from tools.result import Done, truncate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heartbit_site.base.toolspec import ToolSpec

SUSPENSION = Suspension((ChildTask("researcher", "look"),), 60)


def add(a: float, b: float) -> float:
    return a + b


async def add_on_loop(a: float, b: float) -> float:
    return a + b


def nothing() -> None: ...


@pytest.mark.parametrize("function", [add, add_on_loop])
async def test_a_good_call_is_ok(function: Any) -> None:
    assert await call(made(function), '{"a": 1, "b": 2.5}') == Done("3.5", "ok")


@pytest.mark.parametrize("arguments", ["", "  \n", "{}"])
async def test_no_text_means_no_arguments(arguments: str) -> None:
    assert await call(made(nothing), arguments) == Done("null", "ok")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("{", "could not be read. The JSON is malformed"),
        ("[1]", "The JSON is not an object"),
        ('"{}"', "The JSON is not an object"),
        ("null", "The JSON is not an object"),
        ('{"a": NaN, "b": 1}', "NaN"),
        ('{"a": 1, "a": 2, "b": 3}', "more than once"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5_000 + "}", "beyond 64 bits"),
        ('{"a": 1}', "'b' is required and missing"),
        ('{"a": 1, "b": "x"}', "b: 'x' is not of type number"),
        ('{"a": 1, "b": 2, "c": 3}', "c is not accepted here; accepted are a, b"),
    ],
)
async def test_wrong_arguments_are_answered(arguments: str, sentence: str) -> None:
    done = await call(made(add), arguments)
    assert isinstance(done, Done)
    assert (done.status, sentence in done.content) == ("invalid", True)


async def test_a_type_that_wants_more_than_its_schema_is_answered() -> None:
    def fetch(id: uuid.UUID) -> str:
        return str(type(id))

    spec = made(fetch)
    loose = dataclasses.replace(spec, parameters={"type": "object"})
    assert await call(spec, f'{{"id": "{uuid.UUID(int=1)}"}}') == Done("<class 'uuid.UUID'>", "ok")
    done = await call(loose, '{"id": "x"}')
    assert isinstance(done, Done)
    assert (done.status, "- ValueError: id: Input should be" in done.content) == ("invalid", True)


@pytest.mark.parametrize(
    "name", ["Add", "functions.add", "default_api:ADD", "a-d-d", "add()", " add", "x/y.add"]
)
async def test_a_near_miss_is_repaired(name: str) -> None:
    assert await call(made(add), '{"a": 1, "b": 2}', name=name) == Done("3.0", "ok")


async def test_an_unknown_name_is_answered_with_the_closest() -> None:
    tools = Registry(made(add, name=name) for name in ("web_search", "web_fetch", "calendar"))
    done = await call(tools, name="search_web")
    assert done == Done(
        "There is no tool 'search_web'. The closest are: web_search, web_fetch.", "invalid"
    )
    done = await call(tools, name="\x00\ud800" * 5_000)
    assert isinstance(done, Done)
    assert (done.status, len(done.content) < 500) == ("invalid", True)
    empty = await call({}, name="x")
    assert empty == Done("There is no tool 'x'. There are no tools.", "invalid")


async def test_policy_refuses_a_valid_call_with_its_resolved_tool() -> None:
    def policy(spec: ToolSpec, arguments: Mapping[str, Any]) -> str | None:
        return f"{spec.name} may not add {arguments['a']}." if arguments["a"] == 13 else None

    refused = await call(made(add), '{"a": 13, "b": 1}', name="ADD", policy=policy)
    assert refused == Done("add may not add 13.", "refused")
    assert await call(made(add), '{"a": 1, "b": 1}', policy=policy) == Done("2.0", "ok")


def pay(to: str, amount: int = 5_000, on: datetime.date = datetime.date(2026, 1, 2)) -> str:
    return f"{amount} to {to} on {on:%d.%m.}"


@pytest.mark.parametrize("given", ["", ', "amount": 5000', ', "on": "2026-01-02"'])
async def test_policy_and_people_see_what_the_function_takes_by_itself(given: str) -> None:
    whole = {"to": "ann", "amount": 5_000, "on": "2026-01-02"}
    asked: list[Mapping[str, Any]] = []

    def policy(_spec: ToolSpec, arguments: Mapping[str, Any]) -> Ask:
        asked.append(arguments)
        return Ask("A lot of money.")

    arguments = f'{{"to": "ann"{given}}}'
    held = await call(made(pay), arguments, policy=policy)
    assert isinstance(held, Held)
    assert (held.arguments, asked) == (whole, [whole])
    assert await call(made(pay), arguments) == Done("5000 to ann on 02.01.", "ok")


async def test_an_agent_s_defaults_win_over_the_function_s_and_the_model_s_over_both() -> None:
    spec = dataclasses.replace(made(pay), defaults={"amount": 7})
    assert await call(spec, '{"to": "ann"}') == Done("7 to ann on 02.01.", "ok")
    assert await call(spec, '{"to": "ann", "amount": 9}') == Done("9 to ann on 02.01.", "ok")


async def test_a_default_need_not_fit_the_schema_that_arguments_have_to() -> None:
    def find(
        limit: Annotated[int, Field(ge=1)] = 0,  # none
        order: Annotated[str, Field(min_length=3)] = "",
    ) -> str:
        return f"{limit} {order!r}"

    assert await call(made(find)) == Done("0 ''", "ok")
    done = await call(made(find), '{"order": ""}')
    assert isinstance(done, Done)
    assert done.status == "invalid"


class Rude(BaseException):
    """Not even an Exception."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit


ERRORS = [
    (ValueError("bad value"), "ValueError: bad value"),
    (KeyError(), "KeyError"),
    (RecursionError("deep"), "RecursionError: deep"),
    (StopIteration(1), "StopIteration: 1"),
    (StopAsyncIteration(), "StopAsyncIteration"),
    (TimeoutError("mine"), "TimeoutError: mine"),
    (SystemExit(3), "SystemExit: 3"),
    (Rude("x"), "Rude: x"),
    (Unprintable(), "Unprintable"),
    (asyncio.CancelledError(), "CancelledError: the tool cancelled itself."),
    (ValueError("a\x00b\ud800"), "ValueError: a\ufffdb\ufffd"),
]


@pytest.mark.parametrize(("error", "content"), ERRORS)
@pytest.mark.parametrize("on_loop", [True, False])
async def test_what_a_tool_raises_is_its_result(
    error: BaseException, content: str, *, on_loop: bool
) -> None:
    def fail() -> None:
        raise error

    async def fail_on_loop() -> None:
        raise error

    done = await call(made(fail_on_loop if on_loop else fail))
    if on_loop and isinstance(error, StopIteration):
        content = "RuntimeError: coroutine raised StopIteration"
    assert done == Done(content, "error")


async def test_an_async_tool_that_hangs_times_out() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    assert await call(made(hang, timeout_seconds=0.05)) == Done(
        "hang did not finish within 0.05 s.", "timeout"
    )
    done = await call(made(hang, Effect.IDEMPOTENT), timeout_seconds=0.05)
    assert done == Done(
        "hang did not finish within 0.05 s. It may still have had its effect.", "timeout"
    )


async def test_an_async_tool_that_ignores_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tools.pipeline.CANCEL_GRACE_SECONDS", 0.05)
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    done = await call(made(stubborn, timeout_seconds=0.05))
    release.set()
    assert isinstance(done, Done)
    assert done.status == "timeout"


async def test_a_sync_tool_that_hangs_times_out() -> None:
    release = threading.Event()

    def hang() -> None:
        release.wait(10)

    done = await call(made(hang, timeout_seconds=0.05))
    release.set()
    assert done == Done("hang did not finish within 0.05 s.", "timeout")


async def test_a_call_that_times_out_in_the_queue_never_runs() -> None:
    release, ran = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as executor:
        executor.submit(release.wait, 10)
        done = await call(made(ran.set, name="late", timeout_seconds=0.05), executor=executor)
        release.set()
    assert done == Done(
        "late did not start within 0.05 s: every worker thread was busy.", "timeout"
    )
    assert not ran.is_set()


async def test_the_lesser_limit_holds() -> None:
    def prepared(limit: float | None) -> float:
        result = prepare(
            Registry([made(nothing)]),
            name="nothing",
            arguments="",
            context=context(),
            timeout_seconds=limit,
        )
        assert isinstance(result, Prepared)
        return result.timeout_seconds

    assert [prepared(limit) for limit in (None, 1, 100)] == [5, 1, 5]


async def test_cancelling_the_run_cancels_the_tool_and_passes_through() -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    task = asyncio.create_task(call(made(work)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()


async def test_cancelling_the_run_does_not_wait_for_a_thread() -> None:
    release, started = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        release.wait(10)

    task = asyncio.create_task(call(made(work)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()


@pytest.mark.parametrize("effect", list(Effect))
async def test_intent_precedes_tools_that_act_outside_and_no_others(effect: Effect) -> None:
    log: list[str] = []

    def act() -> None:
        log.append("act")

    async def intent() -> None:
        log.append("intent")

    await call(made(act, effect), intent=intent)
    await call(made(act, effect), "{", intent=intent)  # an invalid call announces nothing
    outside = effect in (Effect.AT_MOST_ONCE, Effect.IDEMPOTENT)
    assert log == (["intent", "act"] if outside else ["act"])


async def test_a_failing_intent_stops_the_call_and_is_no_result() -> None:
    ran: list[int] = []

    async def intent() -> None:
        raise ConnectionError("lease lost")

    with pytest.raises(ConnectionError, match="lease lost"):
        await call(made(lambda: ran.append(1), Effect.AT_MOST_ONCE, name="act"), intent=intent)
    assert ran == []


async def test_the_context_is_filled_in_and_hidden() -> None:
    def who(context: ToolContext) -> str:
        return context.idempotency_key

    spec = made(who)
    assert await call(spec) == Done(f"{uuid.UUID(int=1)}:1.0", "ok")
    done = await call(spec, '{"context": {}}')
    assert isinstance(done, Done)
    assert done.status == "invalid"


@dataclasses.dataclass
class Point:
    x: int
    at: uuid.UUID


class Opaque: ...


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text é", "text é"),
        ("", ""),
        (None, "null"),
        ({"a": [1, True, "é"]}, '{"a":[1,true,"é"]}'),
        (Point(1, uuid.UUID(int=2)), f'{{"x":1,"at":"{uuid.UUID(int=2)}"}}'),
        ("a\x00b", "a\ufffdb"),
        ({"k\ud800": "\x00"}, '{"k\ufffd":"\\u0000"}'),
    ],
)
async def test_results_become_text(value: object, content: str) -> None:
    assert await call(made(lambda: value, name="give")) == Done(content, "ok")


def deep() -> list[object]:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [Opaque(), {Opaque(): 1}, {"a": {("b",): 1}}, deep(), add_on_loop(1, 2)]
)
async def test_a_result_that_is_no_data_is_an_error(value: object) -> None:
    done = await call(made(lambda: value, name="give"))
    assert isinstance(done, Done)
    assert (done.status, "Traceback" in done.content) == ("error", False)


async def test_results_errors_and_refusals_are_truncated() -> None:
    def fail() -> None:
        raise ValueError("e" * 10_000)

    for done in (
        await call(made(lambda: "x" * 10_000, name="give"), max_output_bytes=1_000),
        await call(made(fail), max_output_bytes=1_000),
        await call(made(nothing), policy=lambda *_: "r" * 10_000, max_output_bytes=1_000),
    ):
        assert isinstance(done, Done)
        assert (done.truncated, 990 < len(done.content) <= 1_000) == (True, True)
        assert done.content.endswith("bytes shown]")


def test_truncation_keeps_whole_characters_and_counts() -> None:
    text = "é€😀" * 1_000  # 2, 3 and 4 bytes
    content, truncated = truncate(text, 100)
    kept, marker = content.split("\n")
    assert truncated
    assert text.startswith(kept)
    assert marker == f"[cut: {len(kept.encode())} of 9000 bytes shown]"
    assert truncate("é" * 50, 100) == ("é" * 50, False)
    assert truncate("é" * 50 + "x", 100)[1]


@given(st.text(max_size=300), st.integers(0, 400))
def test_truncation_never_exceeds_its_limit(text: str, limit: int) -> None:
    content, truncated = truncate(text, limit)
    assert truncated == (len(text.encode()) > limit)
    assert len(content.encode()) <= max(limit, 60)
    assert truncated or content == text


async def test_calls_run_in_parallel_and_apart() -> None:
    gate = threading.Barrier(4, timeout=5)
    both = asyncio.Event()

    def meet() -> str:
        gate.wait()
        return "met"

    async def opens() -> str:
        both.set()
        return "opened"

    async def waits() -> str:
        await both.wait()
        return "waited"

    async def fails() -> str:
        raise SystemExit(1)

    async def hangs() -> str:
        await asyncio.Event().wait()
        return "never"

    specs = [made(meet)] * 4 + [made(waits), made(opens), made(fails)]
    specs.append(made(hangs, timeout_seconds=0.1))
    results = await asyncio.gather(*(call(spec) for spec in specs))
    assert [result.status for result in results if isinstance(result, Done)] == [
        *["ok"] * 6,
        "error",
        "timeout",
    ]


def delegating() -> Suspension:
    return SUSPENSION


def joined(outcomes: tuple[WaitOutcome, ...]) -> object:
    return {outcome.subject: outcome.value["text"] for outcome in outcomes}


async def test_a_tool_may_wait_and_be_resumed() -> None:
    spec = dataclasses.replace(made(delegating), resume=joined)
    assert await call(spec) == Waiting(SUSPENSION)
    outcomes = (
        WaitOutcome("researcher", {"text": "found é" * 9}),
        WaitOutcome("writer", {"text": ""}),
    )
    assert resume(spec, outcomes) == Done(f'{{"researcher":"{"found é" * 9}","writer":""}}', "ok")
    assert resume(spec, outcomes, max_output_bytes=50).truncated
    assert resume(spec, (WaitOutcome("x", {}),)) == Done("KeyError: 'text'", "error")


async def test_a_tool_that_waits_without_a_way_back_is_an_error() -> None:
    done = await call(made(delegating))
    assert done == Done("TypeError: the tool delegating suspends but cannot resume", "error")
    assert resume(made(delegating), ()).status == "error"


def test_a_transactional_tool_runs_inside_what_undoes_it() -> None:
    log: list[str] = []

    @contextmanager
    def savepoint() -> Iterator[None]:
        log.append("begin")
        try:
            yield
        except BaseException:
            log.append("rollback")
            raise
        log.append("commit")

    def write(value: int) -> object:
        log.append("write")
        return Opaque() if value == 2 else 1 // value

    def run(value: int) -> Done | Waiting:
        prepared = prepare(
            Registry([made(write, Effect.TRANSACTIONAL)]),
            name="write",
            arguments=f'{{"value": {value}}}',
            context=context(),
        )
        assert isinstance(prepared, Prepared)
        log.clear()
        return execute_here(prepared, around=savepoint)

    assert run(1) == Done("1", "ok")
    assert log == ["begin", "write", "commit"]
    assert run(0) == Done("ZeroDivisionError: integer division or modulo by zero", "error")
    assert log == ["begin", "write", "rollback"]
    done = run(2)  # a result that cannot be told is not kept either
    assert isinstance(done, Done)
    assert (done.status, log) == ("error", ["begin", "write", "rollback"])


async def test_a_call_costs_microseconds() -> None:
    """Measured 35 us (async) and 130 us (thread); the bound only catches a change of kind."""
    tools = Registry([made(add_on_loop), made(add)])
    for name, bound in (("add_on_loop", 1e-3), ("add", 3e-3)):
        began = time.perf_counter()
        for _ in range(200):
            await call(tools, '{"a": 1, "b": 2}', name=name)
        assert (time.perf_counter() - began) / 200 < bound


def test_threads_of_the_tests_are_not_all_taken() -> None:
    assert EXECUTOR.submit(lambda: sys.getrecursionlimit()).result(timeout=5)
