"""Delete a knowledge base."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require
from memory.knowledge.erasure import delete_passages
from memory.models import Document, DocumentContent, KnowledgeBase


def remove_base(base: KnowledgeBase, *, by: Actor) -> int:
    """Permanently delete a base with all its documents; return their number.

    Agents that use it find nothing there from then on; journals keep what runs have read.
    """
    require(by, "agents:write", workspace_id=base.workspace_id)
    with transaction.atomic():
        # It keeps uploads out, and lets those who store passages finish, as in ``save_document``.
        KnowledgeBase.objects.select_for_update(no_key=True).filter(pk=base.pk).first()
        rows = Document.objects.filter(base=base)
        documents = list(rows.select_for_update().values_list("pk", flat=True))
        delete_passages(documents)
        DocumentContent.objects.filter(document__base=base).delete()
        rows.delete()
        audit.record_on(by, "knowledge.remove", base, details={"documents": len(documents)})
        KnowledgeBase.objects.filter(pk=base.pk).delete()
    return len(documents)
