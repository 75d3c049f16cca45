"""Where an adapter sends its requests, with which key, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one URL.

    Attributes:
        provider: The provider's name in ``agents.llm.providers``.
        model: The provider's name of the model.
        url: Where requests are posted, complete.
        key_env: The environment variable that holds the key, named in error sentences.
        secret: The key itself, or an empty string; never shown, and cut out of error texts.
        reuse: Whether connections are kept for the next request. llama.cpp's server closes each
            after its stream without saying so, and a request sent in that moment would be lost.
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
        """How error sentences name this endpoint: model and host, never the key."""
        return f"{self.name} at {urlsplit(self.url).netloc.rpartition('@')[2]}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a server may be silent, in seconds; silent means that not one byte arrives.

    Attributes:
        first_event: Until the first bytes of the answer. Hosted reasoning models say nothing at all
            while they think, so this is long.
        between_events: From then on, between two pieces of the answer.
    """

    first_event: float = 300.0
    between_events: float = 120.0


DEFAULT_TIMEOUTS = Timeouts()
