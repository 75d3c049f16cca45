"""A conversation with a team: each message is a run that sees the earlier ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from agents.runtime.files.given_files import read_path
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library.result import Result

GivenFile = str | bytes | Path


def read_files(files: Mapping[str, GivenFile]) -> dict[str, bytes]:
    """Return the content of files by their paths in the run's folder.

    Args:
        files: Text, bytes, or the ``Path`` of a file or a folder on this machine, by path.

    Raises:
        RefusedFilesError: A ``Path`` cannot be read or is not accepted.
    """
    found: dict[str, bytes] = {}
    for name, given in files.items():
        if isinstance(given, Path):
            found |= read_path(given, name)
        else:
            found[name] = given.encode() if isinstance(given, str) else bytes(given)
    return found


class Conversation:
    """A conversation; ``Heartbit.conversation()`` returns one.

    Attributes:
        id: Id of its row, once the first message was posted; give it to ``Heartbit.conversation``
            to continue in another process.
        title: Name in lists.
        lock: Held while its row is created.
    """

    def __init__(
        self,
        perform: Callable[..., Coroutine[Any, Any, Result]],
        *,
        title: str,
        id: UUID | str | None,
        block_on: Callable[..., Result],
    ) -> None:
        try:
            self.id = UUID(str(id)) if id is not None else None
        except ValueError:
            raise ConfigurationError(f"{id!r} is not the id of a conversation.") from None
        self.title = title
        self.lock = threading.Lock()
        self._perform = perform
        self._block_on = block_on

    def say(self, text: str, *, files: Mapping[str, GivenFile] | None = None) -> Result:
        """Post a message and wait for its answer; see ``Heartbit.run``."""
        return self._block_on("say", "asay", lambda: self.asay(text, files=files))

    async def asay(self, text: str, *, files: Mapping[str, GivenFile] | None = None) -> Result:
        """Post a message and await its answer, after the answers to earlier messages."""
        return await self._perform(text, self, files)
