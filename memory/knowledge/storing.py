"""Storing of a part's passages, in one transaction with the document's progress."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models.functions import Now

from heartbit_site.base.query import execute
from memory.choices import DocumentState
from memory.errors import UnreadableDocumentError
from memory.languages import detect_language
from memory.models import Document

if TYPE_CHECKING:
    from memory.knowledge.reader import DocumentPart

_SAMPLE: Final = 5_000  # characters by which the language is known
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
        if texts:
            values = {
                "document": row.pk,
                "base": row.base_id,
                "position": row.passage_count,
                "language": language,
                "name": row.name,
                "pages": [passage.page for passage in part.passages],
                "headings": [json.dumps(passage.headings) for passage in part.passages],
                "texts": texts,
            }
            execute(_STORE, values)
        row.language, row.pages, row.pages_read = language, part.pages, part.pages_read
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
