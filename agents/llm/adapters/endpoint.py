"""Endpoint of a model, and the time limits of its calls."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agents.llm.errors import ModelTimeoutError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one URL.

    Attributes:
        provider: Name of the provider in ``agents.llm.providers``.
        key_env: Environment variable of the key, named in error messages.
        secret: Key, or an empty string; never shown, and removed from error messages.
        reuse: True if connections are kept for the next request. llama.cpp's server closes each
            connection after its stream without notice, so a request sent then would be lost.
    """

    provider: str
    model: str
    url: str
    key_env: str = ""
    secret: str = field(default="", repr=False)
    reuse: bool = True

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return f"{self.provider}:{self.model}"

    @property
    def label(self) -> str:
        """Name of the endpoint in error messages: model, if any, and host, never the key."""
        return f"{self.name.removesuffix(':')} at {urlsplit(self.url).netloc.rpartition('@')[2]}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Longest silence of a server in seconds, without a single byte.

    Attributes:
        first_event: Until the first bytes of the answer; long, because hosted reasoning models send
            nothing while they think.
        between_events: Between two later pieces of the answer.
    """

    first_event: float = 300.0
    between_events: float = 120.0


DEFAULT_TIMEOUTS = Timeouts()


class Clock:
    """Time limits of one call that begins now, in the event loop's time."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts, whole_seconds: float) -> None:
        self._label = endpoint.label
        self._timeouts = timeouts
        self._whole_seconds = whole_seconds
        self._deadline = asyncio.get_running_loop().time() + whole_seconds

    def end_of_wait(self, *, begun: bool) -> float:
        """Return when a wait ends: for the answer's beginning, or for its next piece."""
        silence = self._timeouts.between_events if begun else self._timeouts.first_event
        return min(self._deadline, asyncio.get_running_loop().time() + silence)

    def timeout(self, end: float, *, begun: bool) -> ModelTimeoutError:
        """Return the error for a wait that ended at ``end``."""
        if not begun:
            seconds = min(self._whole_seconds, self._timeouts.first_event)
            return ModelTimeoutError(
                f"{self._label} did not begin to answer within {seconds:g} seconds; try again, or "
                "raise the time limit if the model thinks for long."
            )
        if end >= self._deadline:
            return ModelTimeoutError(
                f"{self._label} was not done within {self._whole_seconds:g} seconds; raise the "
                "call's time limit or ask for less."
            )
        return ModelTimeoutError(
            f"{self._label} fell silent for {self._timeouts.between_events:g} seconds in the "
            "middle of its answer; try again."
        )
