"""Let knowledge bases follow folders of the workspace's drive, and import their files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from heartbit_site.base import audit, queues
from heartbit_site.base.amounts import counted
from heartbit_site.base.audit import Actor
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.errors import HeartbitError, about
from heartbit_site.base.rights import require
from memory.actions.documents import remove_document, save_document
from memory.errors import InvalidKnowledgeError
from memory.models import Document, KnowledgeBase


class FolderSource(Protocol):
    """Files of a workspace's drive by name. Every method raises ``HeartbitError``."""

    def folder(self, name: str) -> str:
        """Return a folder's name in normal form; refuse a name that is not valid."""
        ...

    def names(self, workspace_id: int, folder: str) -> tuple[Sequence[str], bool]:
        """Return the files below a folder by name, and True if the list is complete."""
        ...

    def read(self, workspace_id: int, name: str) -> bytes:
        """Return a file's content."""
        ...


def folder_source() -> FolderSource:
    """Return the source that ``HEARTBIT_FOLDER_SOURCE`` names."""
    source: FolderSource = import_string(settings.HEARTBIT_FOLDER_SOURCE)()
    return source


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


EVERY: Final = timedelta(hours=1)
#: Time after which another worker takes a base whose worker was lost.
_CLAIM: Final = timedelta(minutes=10)
_BY: Final = Actor("drive", "system")
_MOST_OF_PROBLEM: Final = 500


def follow_folders(*, goes_on: Callable[[], bool]) -> int:
    """Import due folders until ``goes_on`` returns False; return the number of changed documents.

    A folder is due when an import was requested, an hour after the last import, and when its worker
    was lost. Files are compared by the hash of their content, so an interrupted import can be
    repeated safely.
    """
    changed = 0
    while goes_on() and (base := _claim_one()) is not None:
        changed += _follow(base, goes_on)
    return changed


def _claim_one() -> KnowledgeBase | None:
    due = Q(drive_requested_at__isnull=False) | Q(drive_checked_at=None)
    due |= Q(drive_checked_at__lte=Now() - EVERY)
    free = Q(drive_claimed_until=None) | Q(drive_claimed_until__lte=Now())
    rows = KnowledgeBase.objects.exclude(drive_folder="").filter(due, free)
    for row in rows.order_by(F("drive_checked_at").asc(nulls_first=True), "pk"):
        # What is asked for from now on is another request.
        claim: dict[str, Any] = {"drive_claimed_until": Now() + _CLAIM, "drive_requested_at": None}
        if KnowledgeBase.objects.filter(due, free, pk=row.pk).update(**claim):
            return KnowledgeBase.objects.select_related("workspace").get(pk=row.pk)
    return None


def _follow(base: KnowledgeBase, goes_on: Callable[[], bool]) -> int:
    """Import one folder, and store what failed; return the number of changed documents."""
    taken, is_whole = _Taken(base, folder_source()), False
    try:
        is_whole = taken.take(goes_on)
    except HeartbitError as problem:
        taken.problem = str(problem)
    mine = KnowledgeBase.objects.filter(pk=base.pk, drive_folder=base.drive_folder)
    # Not to its end: the next task does the rest.
    is_done = is_whole or taken.problem
    done = {"drive_checked_at": Now()} if is_done else {"drive_requested_at": Now()}
    mine.update(drive_claimed_until=None, drive_problem=taken.problem[:_MOST_OF_PROBLEM], **done)
    return taken.changed


class _Taken:
    """Import of a folder's files into its base.

    Attributes:
        problem: Sentence about files that were not imported; empty if all were.
        changed: Number of documents that were added, replaced or removed.
    """

    def __init__(self, base: KnowledgeBase, source: FolderSource) -> None:
        self.problem = ""
        self.changed = 0
        self._base, self._source = base, source
        self._left_out: list[str] = []

    def take(self, goes_on: Callable[[], bool]) -> bool:
        """Import all files; return False if the import stopped early.

        Raises:
            HeartbitError: The folder cannot be listed.
        """
        base = self._base
        names, are_all = self._source.names(base.workspace_id, base.drive_folder)
        rows = Document.objects.filter(base=base)
        known = {row.name: row for row in rows.only("name", "hash", "drive_file")}
        for name in names:
            if not goes_on():
                return False
            self._take_one(name, known)
        present = set(names)
        gone = [row for row in known.values() if row.drive_file and row.drive_file not in present]
        if gone and not present:
            # An unmounted disk looks like this.
            self.problem = (
                f"The folder {base.drive_folder} is gone or empty. Its documents were kept: "
                f"remove them, or stop following the folder."
            )
        elif are_all:
            for row in gone:
                remove_document(rows.select_related("base__workspace").get(pk=row.pk), by=_BY)
            self.changed += len(gone)
        if self._left_out:
            count = counted(len(self._left_out), "file")
            self.problem = f"Left out: {count}. The first: {self._left_out[0]}"
        return True

    def _take_one(self, file: str, known: Mapping[str, Document]) -> None:
        base, name = self._base, file.removeprefix(f"{self._base.drive_folder}/")
        row = known.get(name)
        if row is not None and not row.drive_file:
            self._left_out.append(f"{name} has the name of an uploaded document.")
            return
        try:
            data = self._source.read(base.workspace_id, file)
            if row is not None and row.hash == hashlib.sha256(data).hexdigest():
                return
            save_document(base, name, data, by=_BY, source=f"drive: {file}", drive_file=file)
        except HeartbitError as problem:
            self._left_out.append(str(problem))
        else:
            self.changed += 1
