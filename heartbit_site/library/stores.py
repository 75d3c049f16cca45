"""What outlives runs, for programs: the state store.

Its methods block for a moment; async code calls them with ``asyncio.to_thread``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from heartbit_site.library import shared_host

if TYPE_CHECKING:
    from agents.actions.state import StatePlace

T = TypeVar("T")


def with_database(work: Callable[[], T]) -> T:
    """Return what a function returns, called in a thread that may use the database."""
    shared_host.acquire()
    try:
        from heartbit_site.base import orm  # noqa: PLC0415  needs Django set up

        return orm.shared().submit(work).result()
    finally:
        shared_host.release()


class State:
    """The state store in one scope; ``Heartbit.state()`` returns it."""

    def __init__(self, workspace: str, agent: str, conversation: UUID | str | None) -> None:
        self._workspace = workspace
        self._agent = agent
        self._conversation = conversation

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value; ``default`` if there is none."""

        def work() -> Any:
            found = self._place().entries().filter(key=key).first()
            return default if found is None else found.value

        return with_database(work)

    def set(self, key: str, value: Any, *, ttl_seconds: int | None = None) -> None:
        """Store a JSON value of at most 20,000 characters; it replaces an earlier one.

        Args:
            key: 1 to 200 characters.
            value: The value.
            ttl_seconds: Time until it is deleted; None: it stays.

        Raises:
            HeartbitError: The key, the value or the time is not valid, or the store is full.
        """

        def work() -> None:
            from agents.actions.state import set_state  # noqa: PLC0415  needs Django set up
            from heartbit_site.library.team_request import STARTER  # noqa: PLC0415

            set_state(self._place(), key, value, ttl_seconds=ttl_seconds, by=STARTER)

        with_database(work)

    def delete(self, key: str) -> bool:
        """Delete a value; return True if there was one."""

        def work() -> bool:
            from agents.actions.state import delete_state  # noqa: PLC0415  needs Django set up
            from heartbit_site.library.team_request import STARTER  # noqa: PLC0415

            return delete_state(self._place(), key, by=STARTER)

        return with_database(work)

    def exists(self, key: str) -> bool:
        """Return True if there is a value under a key."""
        return with_database(lambda: self._place().entries().filter(key=key).exists())

    def _place(self) -> StatePlace:
        from agents.actions.state import StatePlace  # noqa: PLC0415  needs Django set up
        from heartbit_site.operations.messages_of_conversations import (  # noqa: PLC0415
            find_conversation,
        )
        from heartbit_site.workspaces import find_workspace  # noqa: PLC0415

        workspace, thread = find_workspace(self._workspace), self._conversation
        found = None if thread is None else find_conversation(workspace, str(thread)).pk
        return StatePlace(workspace, self._agent, found)
