"""Let a knowledge base follow a folder of the workspace's drive."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from heartbit_site.base import audit, queues
from heartbit_site.base.audit import Actor
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.errors import about
from heartbit_site.base.rights import require
from memory.errors import InvalidKnowledgeError
from memory.knowledge.folder_source import folder_source
from memory.models import KnowledgeBase


def follow_folder(base: KnowledgeBase, folder: str, *, by: Actor) -> bool:
    """Follow a folder of the drive; return True if that changes the followed folder.

    A worker then imports its files, and again each hour. Empty: follow no folder; imported
    documents are kept as if they had been uploaded.

    Raises:
        HeartbitError: The name is not valid for a folder of a drive.
    """
    require(by, "agents:write", workspace_id=base.workspace_id)
    with about("drive_folder"):
        folder = folder_source().folder(folder) if folder.strip("/ ") else ""
    with transaction.atomic():
        row = KnowledgeBase.objects.select_for_update(no_key=True, of=("self",)).get(pk=base.pk)
        if row.drive_folder == folder:
            return False
        row.drive_folder, row.drive_problem, row.drive_checked_at = folder, "", None
        row.drive_requested_at = None
        row.save()
        if not folder:
            row.documents.exclude(drive_file="").update(drive_file="")
        audit.record_on(by, "knowledge.follow", row, details={"folder": folder})
    if folder:
        request_folder(row)
    base.refresh_from_db()
    return True


def request_folder(base: KnowledgeBase) -> None:
    """Ask a worker to import the files of a base's folder now.

    Raises:
        InvalidKnowledgeError: The base follows no folder.
    """
    rows = KnowledgeBase.objects.filter(pk=base.pk).exclude(drive_folder="")
    if not rows.update(drive_requested_at=Now()):
        raise InvalidKnowledgeError(
            f"{base.name} follows no folder of the drive: set drive_folder first."
        )
    message = TaskMessage(queues.FOLLOW_FOLDERS, "", queues.SYSTEM, seconds=30.0)
    transaction.on_commit(lambda: send(message))
