"""Delete a document."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require
from memory.knowledge.erasure import delete_passages
from memory.models import Document, DocumentContent


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
