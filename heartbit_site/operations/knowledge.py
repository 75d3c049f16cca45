"""Knowledge bases, their documents, and searches of their passages."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from django.db import transaction
from django.db.models import QuerySet
from pydantic import Field

from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.contract.knowledge import (
    DocumentIn,
    DocumentOut,
    DocumentsOut,
    KnowledgeBaseIn,
    KnowledgeBaseOut,
    KnowledgeBasesOut,
    PassageDetailOut,
    PassageHitOut,
    PassageHitsOut,
    PassageOut,
    SavedDocumentOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.operations.paging import find_row, list_page, row_id
from memory.actions import bases, documents
from memory.actions import follow_folders as following
from memory.errors import (
    DocumentNotFoundError,
    InvalidKnowledgeError,
    KnowledgeBaseNotFoundError,
    PassageNotFoundError,
)
from memory.knowledge.search import search_passages
from memory.models import Document, KnowledgeBase, Passage
from memory.querysets import with_counts


def list_knowledge_bases(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> KnowledgeBasesOut:
    """Return the knowledge bases of the workspace, by name."""
    return list_page(KnowledgeBasesOut, with_counts(_bases(access)), "name", cursor, limit)


def save_knowledge_base(access: Access, body: KnowledgeBaseIn) -> KnowledgeBaseOut:
    """Create the knowledge base of this name, or change its description.

    With a folder of the drive, a worker imports its files as documents, and checks for new, changed
    and deleted files each hour.
    """
    with transaction.atomic():
        row, _ = bases.save_base(
            access.workspace, body.name, description=body.description, by=actor_of(access)
        )
        if body.drive_folder is not None:
            following.follow_folder(row, body.drive_folder, by=actor_of(access))
    return show_knowledge_base(access, body.name)


def show_knowledge_base(access: Access, base: Name) -> KnowledgeBaseOut:
    """Return a knowledge base."""
    return KnowledgeBaseOut.of(_find_base(access, base, with_counts(_bases(access))))


def refresh_knowledge_base(access: Access, base: Name) -> KnowledgeBaseOut:
    """Ask a worker to import the new, changed and deleted files of the base's folder now."""
    following.request_folder(_find_base(access, base))
    return show_knowledge_base(access, base)


def remove_knowledge_base(access: Access, base: Name) -> None:
    """Permanently delete a knowledge base with its documents, passages and vectors.

    Journals of runs keep what the runs have read.
    """
    bases.remove_base(_find_base(access, base), by=actor_of(access))


def list_documents(
    access: Access, base: Name, *, cursor: Cursor = None, limit: Limit = USUAL
) -> DocumentsOut:
    """Return the documents of a knowledge base with their state, by name."""
    rows = _find_base(access, base).documents.select_related("base")
    return list_page(DocumentsOut, rows, "name", cursor, limit)


def save_document(access: Access, base: Name, body: DocumentIn) -> SavedDocumentOut:
    """Add a document, or replace the content of the document of this name, for a worker to read.

    At most 10 MB of text, Markdown, HTML, PDF or DOCX. Repeating the same content changes nothing,
    except that an unreadable document is read again. A body may have up to 14 MB here.
    """
    row, outcome = documents.save_document(
        _find_base(access, base),
        body.name,
        _content(body),
        by=actor_of(access),
        source=body.source,
        kind=body.kind or "",
    )
    return SavedDocumentOut.of(row, outcome=outcome)


def show_document(access: Access, base: Name, document_id: Word) -> DocumentOut:
    """Return a document with its state."""
    return DocumentOut.of(_find_document(access, base, document_id))


def remove_document(access: Access, base: Name, document_id: Word) -> None:
    """Permanently delete a document with its passages and vectors.

    Journals of runs keep what the runs have read.
    """
    row = _find_document(access, base, document_id)
    documents.remove_document(row, by=actor_of(access))


def search_knowledge(
    access: Access,
    *,
    query: Annotated[Word, Field(min_length=1, description="A question, or words to search for.")],
    base: Annotated[Name, Field(description="Filter by knowledge base; empty: all.")] = "",
    limit: Limit = 10,
) -> PassageHitsOut:
    """Return the best matching passages, with citations, as agents find them."""
    bases = _bases(access)
    if base:
        bases = bases.filter(pk=_find_base(access, base).pk)
    found = search_passages(bases, query, workspace_id=access.workspace.pk, limit=limit)
    hits = [PassageHitOut.of(hit) for hit in found.hits]
    return PassageHitsOut(hits=hits, found_by=found.basis, next_cursor=None)


def show_passage(access: Access, passage_id: Word) -> PassageDetailOut:
    """Return a passage, as citations name it, with the one before and the one after it."""
    rows = Passage.objects.defer("search").select_related("document", "base__workspace")
    rows = rows.filter(base__workspace=access.workspace)
    missing = PassageNotFoundError(
        "The workspace has no such passage: its document was deleted or replaced.",
        remedy=Remedy("knowledge.search_knowledge", "searches the current passages"),
    )
    row = find_row(rows.filter(pk=row_id(passage_id)), missing)
    beside = rows.filter(document=row.document_id)
    before = beside.filter(position=row.position - 1).first()
    after = beside.filter(position=row.position + 1).first()
    return PassageDetailOut.of(
        row,
        before=None if before is None else PassageOut.of(before),
        after=None if after is None else PassageOut.of(after),
    )


def _bases(access: Access) -> QuerySet[KnowledgeBase]:
    return KnowledgeBase.objects.filter(workspace=access.workspace)


def _find_base(
    access: Access, name: str, rows: QuerySet[KnowledgeBase] | None = None
) -> KnowledgeBase:
    rows = _bases(access) if rows is None else rows
    missing = KnowledgeBaseNotFoundError(
        f"The workspace has no knowledge base {name!r}.",
        remedy=Remedy("knowledge.list_knowledge_bases"),
    )
    return find_row(rows.filter(name=name).select_related("workspace"), missing)


def _find_document(access: Access, base: str, document_id: str) -> Document:
    rows: QuerySet[Document] = _find_base(access, base).documents.filter(pk=row_id(document_id))
    missing = DocumentNotFoundError(
        f"The knowledge base {base} has no such document.",
        remedy=Remedy("knowledge.list_documents", "lists them", {"base": base}),
    )
    return find_row(rows.select_related("base__workspace"), missing)


def _content(body: DocumentIn) -> bytes:
    if (body.text is None) == (body.content is None):
        raise InvalidKnowledgeError(
            "A document needs either text, or content in base64: give one of them."
        )
    if body.text is not None:
        return body.text.encode()
    try:
        return base64.b64decode(body.content or "", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidKnowledgeError("content is not base64: encode the document's bytes.") from None
