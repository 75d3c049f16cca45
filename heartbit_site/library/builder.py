"""``Heartbit``: choose agents, their tools and callbacks; then run a task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from agents.output.payload import TaskPayload, parse
from heartbit_site.library import shared_host
from heartbit_site.library.blocking import block_on
from heartbit_site.library.conversation import Conversation, GivenFile, read_files
from heartbit_site.library.fleet import Fleet, connect
from heartbit_site.library.result import Result
from heartbit_site.library.setup import Setup, check_entries
from heartbit_site.library.stores import State, VectorCollection

#: A task; data is the input of a workflow.
Task = str | Mapping[str, Any] | list[Any]


@dataclass(frozen=True, slots=True)
class Heartbit(Setup):
    """A team of agents that runs in this process; the steps are those of ``Setup``."""

    @staticmethod
    def connect(url: str, key: str = "") -> Fleet:
        """Return the fleet behind a server, whose agents its workers execute; nothing is sent yet.

        Args:
            url: The server's address, https unless another scheme is written.
            key: An API key, which decides the workspace; empty: the one in HEARTBIT_API_KEY.

        Raises:
            ConfigurationError: The address cannot be used, or there is no key.
        """
        return connect(url, key)

    def run(
        self,
        task: Task = "",
        *,
        payload: Mapping[str, Any] | None = None,
        files: Mapping[str, GivenFile] | None = None,
    ) -> Result:
        """Run a task and wait for its end.

        Args:
            task: The task; the input of a workflow may be an object or a list.
            payload: The task in its long form: ``{action, spec, inputs, constraints}``, of which
                spec and inputs are any JSON; it follows the text, if there is one.
            files: Files of the run's folder, by path: text, bytes, or the ``Path`` of a file or a
                folder on this machine.

        Raises:
            PayloadError: The payload is not valid.
            RefusedFilesError: A file cannot be read or is not accepted.
            ConfigurationError: It cannot be started, or an event loop runs here already.
            EmbeddedError: The database's server cannot be started.
        """
        return block_on("run", "arun", lambda: self.arun(task, payload=payload, files=files))

    async def arun(
        self,
        task: Task = "",
        *,
        payload: Mapping[str, Any] | None = None,
        files: Mapping[str, GivenFile] | None = None,
    ) -> Result:
        """Run a task; several may run concurrently. Cancelling this cancels the run.

        Args:
            task: The task.
            payload: As for ``run``.
            files: As for ``run``.

        Raises:
            PayloadError: The payload is not valid.
            RefusedFilesError: A file cannot be read or is not accepted.
            ConfigurationError: It cannot be started.
            EmbeddedError: The database's server cannot be started.
        """
        text = task if isinstance(task, str) else json.dumps(task, ensure_ascii=False)
        long_form = parse(payload) if payload is not None else None
        return await self._perform(text, None, files, long_form)

    def resume(self, run_id: UUID | str) -> Result:
        """Continue a run whose process ended before the run did, and wait for its end.

        Args:
            run_id: The run's id; it keeps its original agents, and uses the callbacks and tools of
                this builder.

        Raises:
            ConfigurationError: Another process executes it, or an event loop runs here already.
            RunNotFoundError: The workspace has no such run.
            RunStateError: The run has ended.
            ProgramToolsError: A tool has changed since the run began.
            EmbeddedError: The database's server cannot be started.
        """
        return block_on("resume", "aresume", lambda: self.aresume(run_id))

    async def aresume(self, run_id: UUID | str) -> Result:
        """Continue a run as ``resume`` does. Cancelling this cancels the run.

        Args:
            run_id: As for ``resume``.

        Raises:
            ConfigurationError: Another process executes it.
            RunNotFoundError: The workspace has no such run.
            RunStateError: The run has ended.
            ProgramToolsError: A tool has changed since the run began.
            EmbeddedError: The database's server cannot be started.
        """

        def start() -> UUID:
            from heartbit_site.library.team_request import (  # noqa: PLC0415  needs Django set up
                find_unfinished,
            )

            return find_unfinished(self.workspace, self.team, run_id)

        return await self._execute(start)

    def conversation(self, *, title: str = "", id: UUID | str | None = None) -> Conversation:
        """Return a conversation with the team, in which each message sees the earlier ones.

        Args:
            title: Name in lists.
            id: Continue this conversation.
        """
        return Conversation(self._perform, title=title, id=id, block_on=block_on)

    def state(self, *, agent: str = "", conversation: UUID | str | None = None) -> State:
        """Return the state store, whose values outlive runs.

        Args:
            agent: Use the entries that runs of this agent share.
            conversation: Use the entries that runs of this conversation share. With neither, those
                of the workspace.
        """
        return State(self.workspace, agent, conversation)

    def collection(self, name: str, *, dimensions: int | None = None) -> VectorCollection:
        """Return a vector collection, which is created if the workspace has none of this name.

        Args:
            name: Lower-case letters, digits, ``-`` and ``_``.
            dimensions: Length of the vectors that the program gives; None: the workspace's
                embedding model embeds texts.

        Raises:
            InvalidCollectionError: It cannot be created so.
        """
        return VectorCollection(self.workspace, name, dimensions)

    def close(self) -> None:
        """Stop the process's shared host, unless it is in use; the next run starts a new one."""
        shared_host.close()

    async def aclose(self) -> None:
        """Stop the shared host as ``close`` does, without blocking the loop."""
        await asyncio.to_thread(shared_host.close)

    def __enter__(self) -> Self:
        shared_host.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        shared_host.release()
        shared_host.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(shared_host.acquire)
        return self

    async def __aexit__(self, *_: object) -> None:
        shared_host.release()
        await self.aclose()

    async def _perform(
        self,
        task: str,
        thread: Conversation | None,
        files: Mapping[str, GivenFile] | None = None,
        payload: TaskPayload | None = None,
    ) -> Result:
        given = await asyncio.to_thread(read_files, files) if files else {}
        entries = self.entries
        if self.board is not None:
            entries = {**entries, **self.board}
            check_entries(entries)

        def start() -> UUID:
            from heartbit_site.library.team_request import (  # noqa: PLC0415  needs Django set up
                TeamRequest,
                create_run,
            )

            return create_run(
                TeamRequest(
                    task=task,
                    workspace=self.workspace,
                    team=self.team,
                    entries=entries,
                    thread=thread,
                    files=given,
                    payload=payload,
                )
            )

        result = await self._execute(start)
        if self.board is not None:
            changed = (one for one in result.blackboard.items() if one not in entries.items())
            for key, value in changed:
                self.board[key] = value
        return result

    async def _execute(self, start: Callable[[], UUID]) -> Result:
        """Execute the run that ``start`` creates or finds, on the shared host."""
        shared = shared_host.acquire_running()
        if shared is None:
            shared = await asyncio.to_thread(shared_host.acquire)
        try:
            # Models can be imported only after Django is set up.
            from heartbit_site.library.execution import execute  # noqa: PLC0415

            return await execute(
                shared, start, self.callbacks, self.answer_type, memories=self.memories
            )
        finally:
            shared_host.release()
