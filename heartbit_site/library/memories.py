"""A program's own memory: what was said is handed to it in the program's process."""

from __future__ import annotations

from dataclasses import dataclass

from heartbit_site.library.result import Result
from memory.providers.protocol import MemoryProvider, Said


@dataclass(frozen=True, slots=True)
class Memories:
    """A program's memory.

    Attributes:
        provider: The program's object.
        extract: True if it receives what was said.
    """

    provider: MemoryProvider
    extract: bool


def said_in(task: str, result: Result) -> list[Said]:
    """Return what was said in a run: the task, and the answer unless tools may speak in it."""
    said = [Said("person", task, 0)]
    turns = [event for event in result.events if event.type == "model.answered"]
    if result.text and not any(event.type == "tool.finished" for event in result.events):
        said.append(Said("agent", result.text, len(turns)))
    return said
