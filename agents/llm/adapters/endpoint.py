"""Endpoint and time limits of an adapter's requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one URL.

    Attributes:
        provider: Name of the provider in ``agents.llm.providers``.
        key_env: Environment variable of the key, named in error messages.
        secret: Key, or an empty string; never shown, and removed from error messages.
        reuse: True if connections are kept for the next request. llama.cpp's server closes each
            after its stream without notice, and a request sent in that moment would be lost.
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
        """Name of the endpoint in error messages: model and host, never the key."""
        return f"{self.name} at {urlsplit(self.url).netloc.rpartition('@')[2]}"


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
