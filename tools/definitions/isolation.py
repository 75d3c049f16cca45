"""Isolation of runs from exceptions of tool code."""

from __future__ import annotations

import asyncio
from types import TracebackType

_PASSING = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)


class Isolation:
    """Context manager that stores what the block raises instead of raising it.

    It stores not only every ``Exception``: ``SystemExit`` on an event loop would end the process,
    and with it every other run. Cancellation and ``KeyboardInterrupt`` belong to the caller and
    pass.
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
        """Class and text of the error, without its traceback, which is for logs only."""
        name = type(self.error).__name__
        text = ""
        with Isolation():  # a foreign exception's ``__str__`` is tool code too
            text = str(self.error)
        return f"{name}: {text}" if text else name
