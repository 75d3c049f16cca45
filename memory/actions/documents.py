"""Add documents to a knowledge base, replace and delete them."""

from __future__ import annotations

import codecs
import hashlib
import unicodedata
from typing import Final, Literal

from django.db import transaction
from django.db.models.functions import Now

from heartbit_site.base import audit, queues
from heartbit_site.base.audit import Actor
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.errors import about
from heartbit_site.base.query import execute
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text
from memory.choices import DocumentKind, DocumentState
from memory.errors import InvalidKnowledgeError, UnreadableDocumentError
from memory.models import Document, DocumentContent, KnowledgeBase

_EMBEDDINGS: Final = """
DELETE FROM memory_passage_embedding e USING memory_passage p
WHERE p.id = e.passage_id AND p.document_id = ANY(%s)
"""
_PASSAGES: Final = "DELETE FROM memory_passage WHERE document_id = ANY(%s)"


def delete_passages(documents: list[int]) -> None:
    """Delete all passages of documents, by their ids, with their vectors."""
    execute(_EMBEDDINGS, [documents])
    execute(_PASSAGES, [documents])


_HEAD: Final = 1_024
#: Of UTF-16, with which those of UTF-32 begin in this order of bytes, and of UTF-32 in the other.
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_ENDS: Final = {
    "md": DocumentKind.MARKDOWN,
    "markdown": DocumentKind.MARKDOWN,
    "html": DocumentKind.HTML,
    "htm": DocumentKind.HTML,
    "xhtml": DocumentKind.HTML,
}
#: What a person is told that can be read.
READABLE: Final = "text, Markdown, HTML, PDF or DOCX"


def detect_kind(name: str, data: bytes) -> DocumentKind:
    """Return the format of a document.

    Raises:
        UnreadableDocumentError: The format is not supported.
    """
    head = data[:_HEAD]
    if b"%PDF-" in head:
        return DocumentKind.PDF
    if head.startswith(b"PK\x03\x04") and b"word/document" in data:
        return DocumentKind.DOCX
    is_wide = head.startswith(_WIDE_MARKS)
    if (b"\0" in data[:8_192] and not is_wide) or head.startswith(b"PK\x03\x04"):
        raise UnreadableDocumentError(f"{name} is not a readable document: add {READABLE}.")
    found = _ENDS.get(name.rpartition(".")[2].lower())
    if found is not None:
        return found
    start = head.lstrip(codecs.BOM_UTF8).lstrip().lower()
    return (
        DocumentKind.HTML if start.startswith((b"<!doctype html", b"<html")) else DocumentKind.TEXT
    )


MOST_BYTES: Final = 10_000_000
MOST_DOCUMENTS: Final = 10_000
_MOST_OF_NAME: Final = 200
_MOST_OF_SOURCE: Final = 500
#: What happened to a document: it was new, has another content now, or has the same as before.
Outcome = Literal["added", "replaced", "unchanged"]


def save_document(
    base: KnowledgeBase,
    name: str,
    data: bytes,
    *,
    by: Actor,
    source: str = "",
    kind: str = "",
    drive_file: str = "",
) -> tuple[Document, Outcome]:
    """Store a document for a worker to read; return it, and the outcome.

    The same content changes only the source, except that an unreadable document is read again. New
    content deletes the passages of the previous content at once.

    Args:
        base: Its knowledge base.
        name: Its name there; a document of this name is replaced.
        data: Its content.
        by: Author.
        source: Origin, for people.
        kind: A value of ``DocumentKind``; empty: by its content and file extension.
        drive_file: File of the drive that it is imported from; empty if it is uploaded.

    Raises:
        InvalidKnowledgeError: The name, source or size is not valid, or the base is full.
        UnreadableDocumentError: The file is not a readable document.
    """
    require(by, "agents:write", workspace_id=base.workspace_id)
    name, source = _checked_name(name), _checked_source(source)
    found = _checked_kind(name, data, kind)
    digest = hashlib.sha256(data).hexdigest()
    with transaction.atomic():
        # The base's row orders two uploads of one name. The lock lets a worker that holds the
        # document, and refers to the base in its passages, finish: else each would wait for the
        # other.
        KnowledgeBase.objects.select_for_update(no_key=True).get(pk=base.pk)
        row = Document.objects.select_for_update(of=("self",)).filter(base=base, name=name).first()
        if row is None:
            if base.documents.count() >= MOST_DOCUMENTS:
                raise InvalidKnowledgeError(
                    f"{base.name} has {MOST_DOCUMENTS:,} documents, which is the limit of a "
                    f"base: add another base."
                )
            row = Document(base=base, name=name)
        outcome: Outcome = "added" if row.pk is None else "replaced"
        if row.hash == digest and row.kind == found:
            outcome = "unchanged"
            if row.state != DocumentState.FAILED:
                if source and source != row.source:
                    row.source = source
                    row.save(update_fields=["source"])
                    audit.record_on(by, "document.change", row, details={"base": base.name})
                return row, outcome
        if row.pk is not None:
            delete_passages([row.pk])
        row.source, row.drive_file = source or row.source, drive_file
        row.hash, row.size, row.kind = digest, len(data), found
        row.state, row.problem, row.language = DocumentState.QUEUED, "", ""
        row.pages, row.pages_read, row.passage_count = None, 0, 0
        row.claim += 1  # what a worker still reads of the former content is not stored
        row.claimed_until, row.attempts = None, 0
        row.touched_at = row.updated_at = Now()
        row.save()
        DocumentContent.objects.update_or_create(document=row, defaults={"data": data})
        details = {"base": base.name, "size": len(data), "outcome": outcome}
        row.refresh_from_db()
        audit.record_on(by, "document.save", row, details=details)
        message = TaskMessage(queues.INGEST_DOCUMENTS, "", queues.SYSTEM, seconds=5.0)
        transaction.on_commit(lambda: send(message))
    return row, outcome


def _checked_name(name: str) -> str:
    name = unicodedata.normalize("NFC", clean_text(name)).strip()
    with about("name"):
        if not name or not name.isprintable() or len(name) > _MOST_OF_NAME:
            raise InvalidKnowledgeError(
                f"The document's name {name[:80]!r} is not valid: use 1 to {_MOST_OF_NAME} "
                "characters in one line, such as handbook.pdf."
            )
    return name


def _checked_source(source: str) -> str:
    source = " ".join(clean_text(source).split())
    with about("source"):
        if len(source) > _MOST_OF_SOURCE:
            raise InvalidKnowledgeError(
                f"The source has {len(source)} characters, and the limit is {_MOST_OF_SOURCE}: "
                f"shorten it."
            )
    return source


def _checked_kind(name: str, data: bytes, kind: str) -> DocumentKind:
    with about("content"):
        if not data:
            raise InvalidKnowledgeError(f"{name} is empty.")
        if len(data) > MOST_BYTES:
            raise InvalidKnowledgeError(
                f"{name} has {len(data):,} bytes, and the limit of a document is {MOST_BYTES:,}: "
                f"divide it."
            )
        detected = detect_kind(name, data)
        if not kind or kind == detected:
            return detected
        binary = {DocumentKind.PDF, DocumentKind.DOCX}
        if kind in binary or detected in binary:
            raise UnreadableDocumentError(f"{name} is {detected.label}, not {kind}.")
        return DocumentKind(kind)


def remove_document(document: Document, *, by: Actor) -> None:
    """Delete a document with its passages and vectors, for good; journals keep what was read."""
    require(by, "agents:write", workspace_id=document.base.workspace_id)
    with transaction.atomic():
        # A worker that stores a part of it waits for this lock, and then finds no row.
        Document.objects.select_for_update(of=("self",)).filter(pk=document.pk).first()
        delete_passages([document.pk])
        DocumentContent.objects.filter(document=document).delete()
        details = {"base": document.base.name}
        audit.record_on(by, "document.remove", document, details=details)
        Document.objects.filter(pk=document.pk).delete()
