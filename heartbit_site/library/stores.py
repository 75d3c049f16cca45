"""The state store and vector collections, for programs: data that outlives runs.

Its methods block for a moment; async code calls them with ``asyncio.to_thread``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from heartbit_site.library import shared_host

if TYPE_CHECKING:
    from agents.actions.state import StatePlace
    from memory.actions.search_collection import ItemHit
    from memory.models import Collection

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
            find_any_conversation,
        )
        from heartbit_site.workspaces import find_workspace  # noqa: PLC0415

        workspace, thread = find_workspace(self._workspace), self._conversation
        found = None if thread is None else find_any_conversation(workspace, str(thread)).pk
        return StatePlace(workspace, self._agent, found)


class VectorCollection:
    """A vector collection; ``Heartbit.collection()`` returns it."""

    def __init__(self, workspace: str, name: str, dimensions: int | None) -> None:
        self._workspace = workspace
        self.name = name

        def work() -> None:
            from heartbit_site.library.team_request import STARTER  # noqa: PLC0415
            from heartbit_site.workspaces import find_workspace  # noqa: PLC0415
            from memory.actions.collections import create_collection  # noqa: PLC0415

            create_collection(find_workspace(workspace), name, dimensions=dimensions, by=STARTER)

        with_database(work)

    def upsert(
        self,
        key: str,
        text: str = "",
        *,
        vector: Sequence[float] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write an item; one of the same key is replaced.

        Args:
            key: 1 to 200 characters.
            text: At most 8,000 characters, which are found by their words, too.
            vector: For a collection with dimensions.
            metadata: Free JSON.

        Raises:
            HeartbitError: The item is not valid, or there is no room.
        """

        def work() -> None:
            from heartbit_site.library.team_request import STARTER  # noqa: PLC0415
            from memory.actions.collections import NewItem, upsert_items  # noqa: PLC0415

            item = NewItem(key, text, list(vector), dict(metadata or {}))
            upsert_items(self._find(), [item], by=STARTER)

        with_database(work)

    def search(
        self,
        query: str = "",
        *,
        vector: Sequence[float] = (),
        metadata: Mapping[str, Any] | None = None,
        limit: int = 10,
    ) -> list[ItemHit]:
        """Return the items that match best, each with ``item``, ``score`` and ``similarity``.

        Args:
            query: Words, or a question.
            vector: For a collection with dimensions.
            metadata: What the metadata of each hit has to contain.
            limit: Number of hits at most.

        Raises:
            HeartbitError: There is neither query nor vector, or the vector is not valid.
        """

        def work() -> list[ItemHit]:
            from memory.actions.search_collection import search_collection  # noqa: PLC0415

            found = search_collection(
                self._find(), query=query, vector=list(vector), metadata=metadata, limit=limit
            )
            return found.hits

        return with_database(work)

    def delete(self, *keys: str) -> int:
        """Delete items by their keys; return their number."""

        def work() -> int:
            from heartbit_site.library.team_request import STARTER  # noqa: PLC0415
            from memory.actions.collections import delete_items  # noqa: PLC0415

            return delete_items(self._find(), keys, by=STARTER)

        return with_database(work)

    def drop(self) -> None:
        """Delete the collection with its items, for good."""

        def work() -> None:
            from heartbit_site.library.team_request import STARTER  # noqa: PLC0415
            from memory.actions.collections import delete_collection  # noqa: PLC0415

            delete_collection(self._find(), by=STARTER)

        with_database(work)

    def _find(self) -> Collection:
        from heartbit_site.workspaces import find_workspace  # noqa: PLC0415  needs Django set up
        from memory.actions.collections import find_collection  # noqa: PLC0415

        return find_collection(find_workspace(self._workspace), self.name)
