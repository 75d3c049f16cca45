"""Create, change and delete knowledge bases."""

from __future__ import annotations

import re
from typing import Final

from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text
from memory.actions.documents import delete_passages
from memory.errors import InvalidKnowledgeError
from memory.models import Document, DocumentContent, KnowledgeBase

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_MOST_OF_DESCRIPTION: Final = 300


def save_base(
    workspace: Workspace, name: str, *, description: str | None, by: Actor
) -> tuple[KnowledgeBase, bool]:
    """Save the base of this name; return it, and True if it is new.

    Args:
        workspace: The base's workspace.
        name: The base's name.
        description: Subject of its documents; None: unchanged, or empty for a new base.
        by: The author.

    Raises:
        InvalidKnowledgeError: The name or the description is not valid.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    with about("name"):
        if not NAME.match(name):
            raise InvalidKnowledgeError(
                f"The name {name[:80]!r} is not valid: use up to 64 lower-case letters, digits, "
                f"- and _, such as handbook."
            )
    given = None if description is None else _description(description)
    with transaction.atomic():
        rows = KnowledgeBase.objects.select_for_update(no_key=True, of=("self",))
        row, is_new = rows.get_or_create(
            workspace=workspace, name=name, defaults={"description": given or ""}
        )
        if not is_new and given in (None, row.description):
            return row, False
        row.description = given or ""
        row.save(update_fields=["description"])
        row.refresh_from_db()
        audit.record_on(by, f"knowledge.{'add' if is_new else 'change'}", row, details={})
    return row, is_new


def _description(text: str) -> str:
    text = " ".join(clean_text(text).split())
    with about("description"):
        if len(text) > _MOST_OF_DESCRIPTION:
            raise InvalidKnowledgeError(
                f"The description has {len(text)} characters, and at most "
                f"{_MOST_OF_DESCRIPTION}: shorten it."
            )
    return text


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
