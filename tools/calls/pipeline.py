"""Invocation of a tool: resolve, parse, validate, decide, announce, execute, render.

Usage::

    prepared = prepare(registry, name=call.name, arguments=call.arguments, context=context)
    if isinstance(prepared, PreparedCall):  # else its result, or a person decides first
        outcome = await execute(prepared, executor=executor, journal=record)

    # A transactional tool, in the executor's thread, with its result in one transaction:
    with transaction.atomic():
        outcome = execute_here(prepared, around=transaction.atomic)  # a savepoint for errors
        append_result(outcome)

Errors of a tool or a model become a result for the model, never an exception of the run. Errors of
the journal and of ``policy`` are the runtime's own and pass through.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from concurrent.futures import Future as ThreadFuture
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

import httpx

from heartbit_site.base.credentials import CredentialType
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.pictures import MOST_PICTURES, WithPictures
from heartbit_site.base.suspensions import Suspension, WaitOutcome
from heartbit_site.base.toolspec import Effect, ToolContext, ToolSpec
from tools.calls import questions
from tools.calls.call_parsing import ParsedCall, read
from tools.calls.result import MAX_OUTPUT_BYTES, Status, ToolResult, answer, to_text
from tools.calls.waiting import cancel, is_cancelled, wait_for_end
from tools.definitions.isolation import Isolation

logger = logging.getLogger(__name__)

#: Errors of a tool that are not defects: its refusals, and failures of its environment.
_EXPECTED = (HeartbitError, ValueError, ArithmeticError, OSError, httpx.HTTPError)

LEAST_SECONDS = 0.05  # for a call that took nearly all of its time to connect
_SELF_CANCELLED = ToolResult("CancelledError: the tool cancelled itself.", "error")


@dataclass(frozen=True, slots=True)
class RequireApproval:
    """Answer of a policy: a person must decide first, for this reason."""

    reason: str


Policy = Callable[[ToolSpec, Mapping[str, Any]], str | RequireApproval | None]


@dataclass(frozen=True, slots=True)
class SuspendedCall:
    """A call that waits; ``resume`` it once its waits are resolved."""

    suspension: Suspension


@dataclass(frozen=True, slots=True)
class PreparedCall(ParsedCall):
    """A call that may be executed: resolved, parsed, valid and not refused.

    Attributes:
        max_output_bytes: Limit of the rendered result in UTF-8 bytes.
        timeout_seconds: Limit of the execution: the lesser of the tool's own and the caller's.
    """

    max_output_bytes: int
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class PendingApprovalCall:
    """A valid call that a person has to approve first.

    Attributes:
        arguments: Parsed arguments, defaults included, as they are shown and digested.
    """

    spec: ToolSpec
    arguments: Mapping[str, Any]
    reason: str


def prepare(
    specs: Mapping[str, ToolSpec],
    *,
    name: str,
    arguments: str,
    context: ToolContext,
    policy: Policy | None = None,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    timeout_seconds: float | None = None,
    answered: bool = False,
    credentials: Mapping[str, CredentialType] = MappingProxyType({}),
) -> PreparedCall | PendingApprovalCall | ToolResult:
    """Prepare a call for execution, or return its result if it cannot run.

    Args:
        specs: Tools of the agent: a ``Registry`` or any selection.
        name: Name as the model wrote it.
        arguments: JSON text as the model wrote it; empty means ``{}``.
        context: Context passed to the tool.
        policy: Returns a refusal, that a person has to decide, or ``None``.
        max_output_bytes: Limit of the result in UTF-8 bytes.
        timeout_seconds: Limit of the caller; the lesser of it and the tool's own holds.
        answered: A person wrote the arguments, as in ``read``. Otherwise a question is pending,
            whatever the policy.
        credentials: Credentials of the call, by parameter.
    """
    found = read(
        specs, name=name, arguments=arguments, max_output_bytes=max_output_bytes, answered=answered
    )
    if isinstance(found, ToolResult):
        return found
    spec, values, keywords = found.spec, found.arguments, dict(found.keywords)
    match policy(spec, values) if policy is not None else None:
        case str(refusal):
            return answer(refusal, "refused", max_output_bytes)
        case RequireApproval(reason) if spec.answer_parameter is None:
            return PendingApprovalCall(spec, values, reason)
    if spec.answer_parameter is not None and not answered:
        return PendingApprovalCall(spec, values, questions.REASON)
    limits = (spec.timeout_seconds, timeout_seconds)
    seconds = min(limit for limit in limits if limit is not None)
    if spec.context_parameter is not None:
        deadline = datetime.now(UTC) + timedelta(seconds=seconds)
        keywords[spec.context_parameter] = replace(context, deadline=deadline)
    keywords |= {need.parameter: credentials.get(need.parameter) for need in spec.credentials}
    return PreparedCall(spec, values, keywords, max_output_bytes, seconds)


def acts_outside(prepared: PreparedCall) -> bool:
    """Return True if the call is announced, because its effect cannot be rolled back."""
    return prepared.spec.effect in (Effect.AT_MOST_ONCE, Effect.IDEMPOTENT)


class CallJournal(Protocol):
    """Journal of one call with an external effect: its intent before the effect, its result after.

    A plain function's own thread writes both, so that nothing waits between the intent and the
    effect, or between the effect and its result: if a worker crashes while many calls queue, only
    calls that had really begun are uncertain.
    """

    async def intend(self) -> None:
        """Write the intent of an async function; its result is the caller's to write."""
        ...

    def intend_here(self) -> None:
        """Write the intent from the thread that is about to run the call."""
        ...

    def settle_here(self, done: ToolResult | SuspendedCall) -> None:
        """Write the result from the thread that has run the call."""
        ...


async def connect(
    prepared: PreparedCall, *, stop: asyncio.Future[str] | None = None
) -> PreparedCall | ToolResult:
    """Open what a call with an external effect needs, before its intent; return the call.

    The time spent here counts: the returned call has the remaining time. After an error, a timeout
    or a crash here the call is not uncertain, because the function has not begun.

    Args:
        prepared: Prepared call.
        stop: As for ``execute``.

    Raises:
        asyncio.CancelledError: The caller was cancelled, and so was the tool.
    """
    if prepared.spec.connect is None or not acts_outside(prepared):
        return prepared
    began = time.monotonic()
    opening = asyncio.ensure_future(_connected(prepared))
    await wait_for_end(opening, stop, prepared.timeout_seconds)
    if not opening.done():
        await cancel(opening)
        if stop is not None and stop.done():
            return answer(stop.result(), "refused", prepared.max_output_bytes)
        late = f"{prepared.spec.name} was not connected within {prepared.timeout_seconds:g} s"
        return answer(f"{late}: it was not run.", "timeout", prepared.max_output_bytes)
    failure = _SELF_CANCELLED if is_cancelled(opening) else opening.result()
    if failure is not None:
        return failure
    left = prepared.timeout_seconds - (time.monotonic() - began)
    return replace(prepared, timeout_seconds=max(left, LEAST_SECONDS))


async def _connected(prepared: PreparedCall) -> ToolResult | None:
    """Call the tool's ``connect``; return its failure, if it fails."""
    if prepared.spec.connect is None:
        return None
    with Isolation() as isolation:
        await prepared.spec.connect(**prepared.keywords)
        return None
    return _failed(prepared.spec, prepared.max_output_bytes, isolation)


async def execute(
    prepared: PreparedCall,
    *,
    executor: Executor,
    journal: CallJournal,
    stop: asyncio.Future[str] | None = None,
) -> ToolResult | SuspendedCall:
    """Run a prepared call: async functions on this loop, others in a thread of the executor.

    A thread cannot be stopped: after a timeout it continues, and its result is dropped. The time in
    the executor's queue counts; a call that timed out there has certainly not run.

    Args:
        prepared: Prepared call.
        executor: Runs functions that are not async.
        journal: Journal of the call, used if its effect is outside: idempotent or at most once.
        stop: Resolves to the reason once the tool is disabled: no call begins then, and an async
            function is cancelled.

    Raises:
        asyncio.CancelledError: The caller was cancelled, and so was the tool.
    """
    if prepared.spec.is_async:
        if acts_outside(prepared):
            await journal.intend()
        if stop is not None and stop.done():
            return answer(stop.result(), "refused", prepared.max_output_bytes)
        return await _limited(prepared, asyncio.ensure_future(_on_loop(prepared)), stop=stop)
    call = _ThreadCall(prepared, journal if acts_outside(prepared) else None, stop)
    call.future = executor.submit(contextvars.copy_context().run, call.run)
    return await _limited(prepared, asyncio.wrap_future(call.future), thread=call)


class _ThreadCall:
    """A call in a thread. Either its thread sets the result, or the loop does after the timeout."""

    future: ThreadFuture[ToolResult | SuspendedCall]

    def __init__(
        self,
        prepared: PreparedCall,
        journal: CallJournal | None,
        stop: asyncio.Future[str] | None,
    ) -> None:
        self._prepared = prepared
        self._journal = journal
        self._stop = stop
        self._lock = threading.Lock()
        self._is_settled = False
        self._announced: ThreadFuture[None] | None = None

    def run(self) -> ToolResult | SuspendedCall:
        """Run the call, unless the tool was disabled while every thread was busy."""
        if self._stop is not None and self._stop.done():
            return answer(self._stop.result(), "refused", self._prepared.max_output_bytes)
        if self._journal is not None:
            with self._lock:
                self._announced = ThreadFuture()
                is_late = self._is_settled
            try:
                if not is_late:
                    self._journal.intend_here()
            finally:
                self._announced.set_result(None)
            if self._is_settled:  # its time was over before it could act
                return _late(self._prepared, never_ran=True)
        done = execute_here(self._prepared)
        if self._journal is not None and self.settle():
            self._journal.settle_here(done)
        return done

    async def withdraw(self) -> bool:
        """Wait for an intent that is being written; return True if the call will not run.

        Otherwise the intent would follow the result in the journal.
        """
        with self._lock:
            announced = self._announced
        if announced is None or announced.done():
            return False
        await asyncio.wrap_future(announced)
        return True

    def settle(self) -> bool:
        """Return True only to the first caller, who decides the call's result."""
        with self._lock:
            is_first, self._is_settled = not self._is_settled, True
        return is_first


def execute_here(
    prepared: PreparedCall,
    *,
    around: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> ToolResult | SuspendedCall:
    """Run a prepared call of a plain function in this thread, without a time limit.

    Args:
        prepared: Prepared call.
        around: Context around the function and the rendering of its result; it sees the exceptions
            of both, so a savepoint rolls back a failing tool's writes.
    """
    outcome: ToolResult | SuspendedCall | None = None
    with Isolation() as isolation, around():
        outcome = _rendered(prepared, prepared.spec.function(**prepared.keywords))
    return outcome or _failed(prepared.spec, prepared.max_output_bytes, isolation)


def resume(
    spec: ToolSpec,
    outcomes: tuple[WaitOutcome, ...],
    *,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> ToolResult:
    """Return the result of a call that waited, once every wait is resolved."""
    done: ToolResult | None = None
    with Isolation() as isolation:
        if spec.resume is None:
            raise TypeError(f"the tool {spec.name} cannot resume")
        done = answer(to_text(spec.resume(outcomes)), "ok", max_output_bytes)
    return done or _failed(spec, max_output_bytes, isolation)


async def _on_loop(prepared: PreparedCall) -> ToolResult | SuspendedCall:
    outcome: ToolResult | SuspendedCall | None = None
    with Isolation() as isolation:
        outcome = _rendered(prepared, await prepared.spec.function(**prepared.keywords))
    return outcome or _failed(prepared.spec, prepared.max_output_bytes, isolation)


async def _limited(
    prepared: PreparedCall,
    running: asyncio.Future[ToolResult | SuspendedCall],
    *,
    thread: _ThreadCall | None = None,
    stop: asyncio.Future[str] | None = None,
) -> ToolResult | SuspendedCall:
    """Await a running call within its time limit, or until its tool is disabled."""
    await wait_for_end(running, stop, prepared.timeout_seconds)
    if not running.done() and stop is not None and stop.done():
        await cancel(running)
        return _cut_short(prepared, f"{stop.result()} The call was ended half-way.", "error")
    if not running.done():
        never_ran = thread is not None and thread.future.cancel()
        if thread is None or thread.settle():
            if thread is not None:
                never_ran = await thread.withdraw() or never_ran
            await cancel(running)
            return _late(prepared, never_ran=never_ran)
        await asyncio.wait({running})  # it has acted in time, and writes its result
    if is_cancelled(running):
        return _SELF_CANCELLED
    return running.result()


def _rendered(prepared: PreparedCall, value: object) -> ToolResult | SuspendedCall:
    if isinstance(value, Suspension):
        if prepared.spec.resume is None and value.question is None and not value.state:
            raise TypeError(f"the tool {prepared.spec.name} suspends but cannot resume")
        return SuspendedCall(value)
    if isinstance(value, WithPictures):
        done = answer(value.text, "ok", prepared.max_output_bytes)
        return replace(done, pictures=value.pictures[:MOST_PICTURES])
    return answer(to_text(value), "ok", prepared.max_output_bytes)


def _failed(spec: ToolSpec, max_bytes: int, isolation: Isolation) -> ToolResult:
    error = isolation.error
    # Expected errors are no defects and may be frequent, so they are logged without a traceback.
    # Their text goes to the model and the journal but not the log, because it may be confidential.
    where = None if isinstance(error, _EXPECTED) else error
    logger.info("the tool %s raised %s", spec.name, type(error).__name__, exc_info=where)
    return answer(isolation.message, "error", max_bytes)


def _late(prepared: PreparedCall, *, never_ran: bool) -> ToolResult:
    late = f"within {prepared.timeout_seconds:g} s"
    if never_ran:
        text = f"{prepared.spec.name} did not start {late}: every worker thread was busy."
        return answer(text, "timeout", prepared.max_output_bytes)
    return _cut_short(prepared, f"{prepared.spec.name} did not finish {late}.", "timeout")


def _cut_short(prepared: PreparedCall, text: str, status: Status) -> ToolResult:
    if prepared.spec.effect is not Effect.PURE:
        text += " It may still have had its effect."
    return answer(text, status, prepared.max_output_bytes)
