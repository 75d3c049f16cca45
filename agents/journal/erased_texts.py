"""Replacement of what memory tools said in the stored journal of a run that has ended. Pure.

What is replaced is what ``MemoryTexts`` hides from other readers, so that a journal stays readable
and can be forked. Rows have the form of the archive: columns by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from agents.journal.events import WaitResolved, decode, encode
from agents.journal.memory_texts import MemoryTexts, is_hidden_artifact, is_memory_tool

#: Person in the sentences that replace the texts: the name is erased as well.
ERASED: Final = "an erased person"

Row = dict[str, Any]


class ErasedTexts:
    """The texts of one run; its events come first, in their order.

    Args:
        is_extraction: True if the run proposes memories.
    """

    def __init__(self, *, is_extraction: bool = False) -> None:
        self._texts = MemoryTexts(ERASED, is_extraction=is_extraction)

    def event(self, row: Row) -> Row:
        """Return the changed columns of an event."""
        before = decode(row["type"], row["payload"])
        after = self._texts.redact(before)
        return {} if after == before else {"payload": encode(after)["payload"]}

    def call(self, row: Row) -> Row:
        """Return the changed columns of a tool call."""
        name, result = row["tool"], row["result"]
        kept: Row = {
            "arguments": self._texts.arguments(name, row["arguments"]),
            "result": None if result is None else self._texts.result_of(row["call_id"], result),
        }
        if is_memory_tool(name):
            kept["approval_view"] = None
        return _changed(row, kept)

    def decision(self, row: Row) -> Row:
        """Return the changed columns of a decision."""
        if row["arguments"] is None:
            return {}
        name = self._texts.names.get(row["call_id"], "")
        return _changed(row, {"arguments": self._texts.arguments(name, row["arguments"])})

    def wait(self, row: Row) -> Row:
        """Return the changed columns of a wait."""
        if row["value"] is None:
            return {}
        resolved = WaitResolved(
            key=row["key"], value=row["value"], kind=row["kind"], call_id=row["call_id"]
        )
        after = self._texts.redact(resolved)
        return _changed(row, {"value": after.value}) if isinstance(after, WaitResolved) else {}


def erase_archived(lines: Iterable[str], runs: set[str]) -> Iterator[str]:
    """Yield the lines of an archive, with the texts of some runs replaced."""
    for line in lines:
        entry = json.loads(line)
        if entry["type"] == "artifact" and entry["run_id"] in runs:
            if is_hidden_artifact(entry["name"]):
                continue
        elif entry["type"] == "run" and entry["run"]["id"] in runs:
            yield json.dumps(_archived(entry))
            continue
        yield line


def _archived(entry: Row) -> Row:
    texts = ErasedTexts(is_extraction=entry["run"].get("kind") == "extraction")
    for part, erase in (
        ("events", texts.event),
        ("calls", texts.call),
        ("decisions", texts.decision),
        ("waits", texts.wait),
    ):
        entry[part] = [{**row, **erase(row)} for row in entry.get(part, ())]
    return entry


def _changed(row: Row, columns: Row) -> Row:
    return {name: value for name, value in columns.items() if row[name] != value}
