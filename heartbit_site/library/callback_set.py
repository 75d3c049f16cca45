"""The program's callbacks of a run, sync or async."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartbit_site.library.approvals import Ask
    from heartbit_site.library.result import Event


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks of one builder; see its steps."""

    text: Callable[[str], Any] | None = None
    restart: Callable[[], Any] | None = None
    event: Callable[[Event], Any] | None = None
    ask: Ask | None = None

    def __bool__(self) -> bool:
        """Return True if there is one."""
        return any((self.text, self.restart, self.event, self.ask))


async def invoke(callback: Callable[..., Any] | None, *arguments: Any) -> Any:
    """Call a callback, if there is one, and await what it returns, if that can be awaited."""
    if callback is None:
        return None
    answer = callback(*arguments)
    return await answer if inspect.isawaitable(answer) else answer
