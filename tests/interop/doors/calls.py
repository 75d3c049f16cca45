"""Requests of a client, counted on their way (``event_hooks`` of httpx)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Calls:
    """How many requests a client has sent."""

    count: int = 0

    def hooks(self) -> dict[str, list[Any]]:
        """Hooks of a synchronous client."""

        def count(_: Any) -> None:
            self.count += 1

        return {"request": [count]}

    def async_hooks(self) -> dict[str, list[Any]]:
        """Hooks of an asynchronous client."""

        async def count(_: Any) -> None:
            self.count += 1

        return {"request": [count]}
