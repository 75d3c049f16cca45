"""A tool that connects before the intent of its call: a failure there leaves no doubt."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from heartbit_site.base.toolspec import Effect, spec_of, tool
from tests.tools.calls import context
from tools.calls.pipeline import PreparedCall, connect, execute, prepare
from tools.calls.result import ToolResult


class Connecting:
    """A tool that connects first, and the journal of its calls; both note what they do."""

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self.notes: list[str] = []

        async def begin(text: str) -> None:
            self.notes.append(f"connect {text}")
            if hangs:
                await asyncio.Event().wait()
            if error is not None:
                raise error

        async def act(text: str) -> str:
            """Act."""
            self.notes.append(f"act {text}")
            return "done"

        self.spec = spec_of(act, connect=begin, timeout_seconds=0.2 if hangs else 20)

    async def intend(self) -> None:
        self.notes.append("intend")

    def intend_here(self) -> None:
        """Write nothing: the function is async."""

    def settle_here(self, done: object) -> None:
        """Write nothing: the function is async."""

    async def called(self, stop: asyncio.Future[str] | None = None) -> ToolResult:
        """Call it as a run does."""
        arguments = '{"text": "a"}'
        found = prepare({"act": self.spec}, name="act", arguments=arguments, context=context())
        assert isinstance(found, PreparedCall)
        ready = await connect(found, stop=stop)
        if isinstance(ready, ToolResult):
            return ready
        assert ready.timeout_seconds < found.timeout_seconds, "its time counts"
        with ThreadPoolExecutor(1) as executor:
            done = await execute(ready, executor=executor, journal=self)
        assert isinstance(done, ToolResult)
        return done


async def test_it_connects_then_the_intent_is_journaled_then_it_acts() -> None:
    subject = Connecting()
    assert await subject.called() == ToolResult("done", "ok")
    assert subject.notes == ["connect a", "intend", "act a"]


@pytest.mark.parametrize("error", [ValueError("no way"), asyncio.CancelledError()])
async def test_an_error_is_the_result_and_nothing_was_begun(error: Exception) -> None:
    subject = Connecting(error)
    done = await subject.called()
    assert (done.status, subject.notes) == ("error", ["connect a"])


async def test_a_tool_that_does_not_connect_in_time_was_not_run() -> None:
    subject = Connecting(hangs=True)
    done = await subject.called()
    assert (done.status, subject.notes) == ("timeout", ["connect a"])
    assert done.content == "act was not connected within 0.2 s: it was not run."


async def test_a_tool_that_is_stopped_while_it_connects_was_not_run() -> None:
    subject = Connecting(hangs=True)
    stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop.set_result("It is stopped.")
    done = await subject.called(stop)
    assert (done.status, done.content) == ("refused", "It is stopped.")
    assert "act a" not in subject.notes


def test_a_class_connects_by_its_method() -> None:
    @tool(effect=Effect.IDEMPOTENT)
    class Ticket:
        """Open a ticket."""

        async def connect(self) -> None:
            """Connect."""

        async def run(self) -> str:
            return "done"

    spec = Ticket.__tool__  # type: ignore[attr-defined]  # the mark discovery looks for
    assert spec.connect is not None
    assert spec.connect.__name__ == "connect"
