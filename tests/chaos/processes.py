"""The effects server as a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from pathlib import Path


class EffectsServer(ServerProcess):
    """``tests.effects_server``, never killed before its users are."""

    def __init__(self, *, ledger: Path, latency_ms: float = 0.0) -> None:
        options = ("--ledger", str(ledger), "--latency-ms", str(latency_ms))
        super().__init__("tests.effects_server", *options)
