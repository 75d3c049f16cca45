"""The wall between tool code and the run that calls it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_PASSING = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)


class Isolation:
    """Keeps what the block raises, instead of letting it through.

    Not only every ``Exception``: ``SystemExit`` on an event loop would end the process, and with it
    every other run. Cancellation and ``KeyboardInterrupt`` belong to the caller and pass.

    Attributes:
        error: What was raised, if anything.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Isolation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if isinstance(error, _PASSING):
            return False
        self.error = error
        return True

    @property
    def message(self) -> str:
        """Class and text of the error, never its traceback: that is for logs, not for a model."""
        name = type(self.error).__name__
        text = ""
        with Isolation():  # a foreign exception's ``__str__`` is tool code too
            text = str(self.error)
        return f"{name}: {text}" if text else name
