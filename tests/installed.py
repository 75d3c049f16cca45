"""What an installation has of tools, changed for a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.definitions.catalogue import record_installed
from tools.definitions.registry import registry

if TYPE_CHECKING:
    import pytest


def uninstall(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Take a tool from the installation, as when processes start without its code."""
    monkeypatch.delitem(registry, name)
    record_installed()


def without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this process without any tool, as one that has none of their code."""
    for name in list(registry):
        monkeypatch.delitem(registry, name)
