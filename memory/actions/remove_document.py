"""Delete a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base import audit
from memory.knowledge.erasure import delete_passages
from memory.models import Document, DocumentContent

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor


def remove_document(document: Document, *, by: Actor) -> None:
    """Permanently delete a document with its passages and vectors; journals keep what was read."""
    with transaction.atomic():
        # A worker that stores a part of it waits for this lock, and then finds no row.
        Document.objects.select_for_update(of=("self",)).filter(pk=document.pk).first()
        delete_passages([document.pk])
        DocumentContent.objects.filter(document=document).delete()
        details = {"base": document.base.name}
        audit.record_on(by, "document.remove", document, details=details)
        Document.objects.filter(pk=document.pk).delete()
