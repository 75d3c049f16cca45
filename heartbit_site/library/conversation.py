"""A thread with a team: each message is a run that knows those before it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from uuid import UUID

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from heartbit_site.library.result import Result


class Conversation:
    """``Heartbit.conversation()`` makes one.

    Attributes:
        id: Of its row, once the first message was posted; give it to ``Heartbit.conversation`` to
            go on in another process.
        title: What lists call it.
        lock: Held while its row is made.
    """

    def __init__(
        self,
        perform: Callable[[str, Conversation], Coroutine[Any, Any, Result]],
        *,
        title: str,
        id: UUID | str | None,
        block_on: Callable[..., Result],
    ) -> None:
        try:
            self.id = UUID(str(id)) if id is not None else None
        except ValueError:
            raise ConfigurationError(f"{id!r} is no conversation's id.") from None
        self.title = title
        self.lock = threading.Lock()
        self._perform = perform
        self._block_on = block_on

    def say(self, text: str) -> Result:
        """Post a message and wait for its answer; see ``Heartbit.run``."""
        return self._block_on("say", "asay", lambda: self.asay(text))

    async def asay(self, text: str) -> Result:
        """As ``say``. A message that comes while one is worked on is answered afterwards."""
        return await self._perform(text, self)
