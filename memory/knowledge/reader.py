"""Reading of a document's next part, in a sandboxed process with limits on time and memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heartbit_site.base.reader_process import ReaderError, ReaderLimits, read
from memory.errors import UnreadableDocumentError
from memory.knowledge.passages import PassageText

#: Limit on one part; a claim on a document lasts longer.
PART_TIMEOUT_SECONDS: Final = 30.0
_CPU_SECONDS: Final = 20
_MEMORY_BYTES: Final = 1_000_000_000
_OUTPUT_BYTES: Final = 64_000_000
_SCRIPT: Final = Path(__file__).with_name("reading_script.py")


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document.

    Attributes:
        passages: Its passages in order.
        pages: Number of pages of the whole document; None if the format has no pages.
        pages_read: Number of the last page that was read.
        problem: Sentences about content that was guessed or could not be read; empty if all was
            read.
    """

    passages: list[PassageText]
    pages: int | None
    pages_read: int
    problem: str = ""

    @property
    def is_last(self) -> bool:
        """True if nothing is left to be read."""
        return self.pages is None or self.pages_read >= self.pages


def read_part(name: str, kind: str, data: bytes, *, pages_read: int) -> DocumentPart:
    """Read the next part of a document.

    Args:
        name: The document's, for sentences.
        kind: A value of ``DocumentKind``.
        data: The whole document.
        pages_read: Number of pages that were read before.

    Raises:
        UnreadableDocumentError: The document is damaged, or takes too much time or memory.
    """
    limits = ReaderLimits(PART_TIMEOUT_SECONDS, _CPU_SECONDS, _MEMORY_BYTES, _OUTPUT_BYTES)
    try:
        found = json.loads(read(_SCRIPT, [kind, str(pages_read)], data, limits))
    except (ReaderError, ValueError):
        part = f", from page {pages_read + 1} on," if pages_read else ""
        raise UnreadableDocumentError(
            f"{name}{part} takes too much time or memory to read: split it, or store it as text."
        ) from None
    if "refused" in found:
        raise UnreadableDocumentError(f"{name} {found['refused']}.")
    passages = [PassageText(page, tuple(above), text) for page, above, text in found["passages"]]
    return DocumentPart(passages, found["pages"], found["pages_read"], found["problem"])
