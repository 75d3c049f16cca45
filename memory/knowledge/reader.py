"""Reading of a document's next part in a sandboxed process with limits, and its storage."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from heartbit_site.base.query import execute
from heartbit_site.base.reader_process import ReaderError, ReaderLimits, read
from memory.choices import DocumentState
from memory.errors import UnreadableDocumentError
from memory.knowledge.passages import PassageText
from memory.lexical import detect_language
from memory.models import Document

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
        ReadersBusyError: As ``read``.
        ReadingTimeError: As ``read``.
    """
    limits = ReaderLimits(PART_TIMEOUT_SECONDS, _CPU_SECONDS, _MEMORY_BYTES, _OUTPUT_BYTES)
    try:
        found = json.loads(read(_SCRIPT, [kind, str(pages_read)], data, limits))
    except (ReaderError, ValueError, RecursionError):
        part = f", from page {pages_read + 1} on," if pages_read else ""
        raise UnreadableDocumentError(
            f"{name}{part} takes too much time or memory to read: split it, or store it as text."
        ) from None
    if "refused" in found:
        raise UnreadableDocumentError(f"{name} {found['refused']}.")
    passages = [PassageText(page, tuple(above), text) for page, above, text in found["passages"]]
    return DocumentPart(passages, found["pages"], found["pages_read"], found["problem"])


_SAMPLE: Final = 5_000  # characters used to detect the language
_MOST_SAID: Final = 500  # characters of the column
_STORE: Final = """
INSERT INTO memory_passage
    (document_id, base_id, position, page, headings, text, language, embedded_with, search)
SELECT %(document)s, %(base)s, %(position)s + (g.place - 1)::int, g.page, h.headings, g.text,
    %(language)s, '',
    setweight(to_tsvector(%(language)s::regconfig,
        concat_ws(E'\\n', %(name)s, array_to_string(h.headings, E'\\n'))), 'A')
    || to_tsvector(%(language)s::regconfig, g.text)
FROM ROWS FROM (unnest(%(pages)s::int[]), unnest(%(headings)s::jsonb[]), unnest(%(texts)s::text[]))
    WITH ORDINALITY AS g(page, headings, text, place)
CROSS JOIN LATERAL (SELECT ARRAY(SELECT jsonb_array_elements_text(g.headings)) AS headings) h
"""


def _store_passages(document: Document, passages: list[PassageText]) -> None:
    values = {
        "document": document.pk,
        "base": document.base_id,
        "position": document.passage_count,
        "language": document.language,
        "name": document.name,
        "pages": [passage.page for passage in passages],
        "headings": [json.dumps(passage.headings) for passage in passages],
        "texts": [passage.text for passage in passages],
    }
    execute(_STORE, values)


def store_part(document: Document, part: DocumentPart) -> bool:
    """Store a part's passages; return False if the claim on the document is no longer valid.

    Raises:
        UnreadableDocumentError: This was the last part, and the document has no text.
    """
    with transaction.atomic():
        rows = Document.objects.select_for_update(of=("self",))
        row = rows.filter(pk=document.pk, claim=document.claim, state=DocumentState.READING).first()
        if row is None:
            return False
        texts = [passage.text for passage in part.passages]
        language = row.language or (detect_language("\n".join(texts)[:_SAMPLE]) if texts else "")
        row.language, row.pages, row.pages_read = language, part.pages, part.pages_read
        if texts:
            _store_passages(row, part.passages)
        row.passage_count += len(texts)
        if part.problem:
            said = f"{row.problem} {part.problem}".strip()
            row.problem = said if len(said) <= _MOST_SAID else f"{said[: _MOST_SAID - 2]} …"
        row.claimed_until, row.attempts = None, 0
        row.touched_at = row.updated_at = Now()
        if part.is_last:
            if not row.passage_count:
                raise UnreadableDocumentError(
                    f"{row.name} has no readable text: {row.problem}"
                    if row.problem
                    else f"{row.name} has no text: run OCR on a scan before you upload it."
                )
            row.state = DocumentState.READY
        row.save()
    return True
