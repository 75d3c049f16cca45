"""``Fleet``: runs of a Heartbit server, from a program. Needs no Django, database or broker."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from agents.errors import InvalidEditError
from agents.output.payload import parse
from heartbit_site.base import variable_formats, variables
from heartbit_site.base.archives import pack
from heartbit_site.base.errors import ConfigurationError, ConflictError, HeartbitError
from heartbit_site.base.toolspec import Answer
from heartbit_site.contract.approvals import DECIDE, LIST_APPROVALS, ApprovalOut, DecisionIn
from heartbit_site.contract.runs import LIST_RUNS, SHOW_RUN, START_RUN, RunIn, RunRowOut
from heartbit_site.library.approvals import (
    Approval,
    Approve,
    Ask,
    Decision,
    Deny,
    Edit,
    Said,
    decision_of,
)
from heartbit_site.library.blocking import block_on
from heartbit_site.library.callback_steps import CallbackSteps, checked_callback
from heartbit_site.library.conversation import GivenFile, read_files
from heartbit_site.library.fleet_run import FleetRun
from heartbit_site.library.result import Result
from heartbit_site.remote.errors import RequestRefusedError, error_class
from heartbit_site.remote.server import Server, request, sends_unencrypted

PAGE = 1000

logger = logging.getLogger(__name__)


def connect(url: str, key: str = "") -> Fleet:
    """Return the fleet behind a server; nothing is sent yet.

    Args:
        url: The server's address, https unless another scheme is written.
        key: An API key; empty: the one in HEARTBIT_API_KEY. It decides the workspace.

    Raises:
        ConfigurationError: The address cannot be used, or there is no key.
    """
    try:
        address = variable_formats.server_address(url)
    except ValueError as error:
        raise ConfigurationError(f"The server {url!r:.200} cannot be used: {error}.") from None
    secret = key or variables.API_KEY.read(os.environ)
    if not secret:
        raise ConfigurationError(
            f"There is no key for {address}: make one there with `heartbit keys create NAME`, and "
            "give it, or put it into HEARTBIT_API_KEY."
        )
    if host := sends_unencrypted(address):
        logger.warning("the API key goes to %s unencrypted: use https", host)
    return Fleet(Server(address, secret))


@dataclass(frozen=True, slots=True)
class Fleet(CallbackSteps):
    """A workspace of a server, whose agents its workers execute; ``Heartbit.connect`` returns one.

    Errors are those of runs in the process, as far as a program can mend them: ``NotFoundError``,
    ``ConflictError`` and their kinds, ``RequestRefusedError`` for what a server does not accept,
    and ``ServerError`` for a server that cannot be reached.

    Attributes:
        server: The server and its key.
    """

    server: Server

    def on_approval(self, callback: Ask) -> Self:
        """Let the program decide on tool calls that wait for a person, as ``Heartbit`` does.

        Args:
            callback: Called with one ``Approval`` at a time, sync or async.
        """
        return self._with_callbacks(ask=checked_callback(callback, "on_approval"))

    def submit(
        self,
        task: str = "",
        *,
        agent: str = "",
        payload: Mapping[str, Any] | None = None,
        files: Mapping[str, GivenFile] | None = None,
        conversation_id: UUID | str | None = None,
        idempotency_key: str | None = None,
        **options: Any,
    ) -> FleetRun:
        """Submit a task to the workers and return its run, without waiting.

        Args:
            task: The task.
            agent: The agent; empty: the orchestrator.
            payload: The task in its long form, as for ``Heartbit.run``.
            files: Files of the run's folder, as for ``Heartbit.run``.
            conversation_id: Post it to this conversation, by its agent.
            idempotency_key: One run is started for this key, even if it is submitted again.
            options: Other fields of ``POST /runs``: ``model``, ``priority``, ``require_approval``,
                ``deliver``.

        Raises:
            PayloadError: The payload is not valid.
            EmptyTaskError: The task is blank.
            AgentNotFoundError: The workspace has no such agent.
        """
        given: dict[str, Any] = {"task": task, "agent": agent, **options}
        if payload is not None:
            given["payload"] = parse(payload).model_dump(mode="json")
        if files:
            given["archive"] = base64.b64encode(pack(read_files(files))).decode()
        if conversation_id is not None:
            given["conversation_id"] = str(conversation_id)
        try:
            body = RunIn.model_validate(given)
        except ValueError as error:
            raise ConfigurationError(f"The task cannot be submitted: {error}") from None
        with _as_local_errors():
            run = request(self.server, START_RUN, body, idempotency_key=idempotency_key)
        return FleetRun(self.server, UUID(run.id))

    def get(self, run_id: UUID | str) -> FleetRun:
        """Return a run by its id, or by how it begins.

        Raises:
            RunNotFoundError: The workspace has no such run.
        """
        return FleetRun(self.server, UUID(request(self.server, SHOW_RUN, run_id=str(run_id)).id))

    def runs(self, *, limit: int = 20, **filters: Any) -> list[RunRowOut]:
        """Return the newest runs.

        Args:
            limit: The most of them.
            filters: Parameters of ``GET /runs``: ``agent``, ``status``, ``text``, ``since``,
                ``until``, ``children``, ``mine``, ``sort``.
        """
        return request(self.server, LIST_RUNS, limit=limit, **filters).runs

    def approvals(self, run_id: UUID | str | None = None) -> list[Approval]:
        """Return the calls that wait for a decision, the oldest first; of one run, if it is named.

        Questions have a ``form``.
        """
        found = request(
            self.server, LIST_APPROVALS, run=None if run_id is None else str(run_id), limit=PAGE
        )
        return [_approval(call) for call in found.calls]

    def decide_call(self, approval: Approval, decision: Said) -> None:
        """Decide a call, as it was shown.

        Args:
            approval: The call.
            decision: As an ``on_approval`` callback returns it: True, False, ``Approve()``,
                ``Edit({...})``, ``Answer(value)`` or ``Deny("why")``.

        Raises:
            InvalidEditError: The arguments or the answer do not fit.
            ConflictError: Another decision was quicker, or the run has ended.
        """
        said = _said(decision_of(decision))
        body = DecisionIn.model_validate({"digest": approval.digest, **said})
        place = {"run_id": str(approval.run_id), "call_id": approval.call_id}
        try:
            request(self.server, DECIDE, body, **place)
        except RequestRefusedError as error:
            raise InvalidEditError(str(error)) from error

    def run(self, task: str = "", **given: Any) -> Result:
        """Submit a task, call the callbacks, and return its result, as ``Heartbit.run`` does.

        Ctrl-C, and an error of a callback, cancel the run.

        Args:
            task: The task.
            given: As for ``submit``.
        """
        return block_on("run", "arun", lambda: self.arun(task, **given))

    async def arun(self, task: str = "", **given: Any) -> Result:
        """Submit a task and await its result as ``run`` does. Cancelling this cancels the run."""
        run = await asyncio.to_thread(lambda: self.submit(task, **given))
        try:
            if self.callbacks:
                await run.follow(self.callbacks, self)
            return await run.aresult()
        except BaseException:
            with contextlib.suppress(ConflictError):  # it has ended
                await asyncio.shield(asyncio.to_thread(run.cancel))
            raise

    async def refresh(self, approval: Approval) -> Approval | None:
        """Return an approval with its form; None if it does not wait any more."""
        waiting = await asyncio.to_thread(self.approvals, approval.run_id)
        shown = (approval.call_id, approval.digest)
        return next((one for one in waiting if (one.call_id, one.digest) == shown), None)

    async def decide(self, approval: Approval, decision: Decision) -> None:
        """Decide a call, unless another decision was quicker."""
        try:
            await asyncio.to_thread(self.decide_call, approval, decision)
        except ConflictError as error:
            logger.info("%s", error)


def _approval(call: ApprovalOut) -> Approval:
    return Approval(
        agent=call.agent,
        tool=call.tool,
        arguments=call.arguments,
        effect=call.effect,
        reason=call.reason,
        run_id=UUID(call.run_id),
        call_id=call.call_id,
        digest=call.digest,
        form=call.answer_schema,
    )


def _said(decision: Decision) -> dict[str, Any]:
    match decision:
        case Approve(always):
            return {"verdict": "approve", **({"always": {"scope": always}} if always else {})}
        case Edit(arguments):
            return {"verdict": "edit", "arguments": dict(arguments)}
        case Answer(value):
            return {"verdict": "answer", "answer": value}
        case Deny(reason):
            return {"verdict": "deny", "reason": reason}


@contextlib.contextmanager
def _as_local_errors() -> Iterator[None]:
    """Raise the error that a run in the process raises for what a server refuses."""
    try:
        yield
    except RequestRefusedError as error:
        kind = error_class(error.code, HeartbitError)
        raise (error if kind is HeartbitError else kind(str(error))) from error
