"""The folder that a run tree works in: files in the database, so any worker has them.

Each call adds rows for its changes, in the transaction of its result if there is one. A fork begins
with the folder as of its turn (``sql/forks.sql``), and a run of a conversation with the folder of
the previous run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Subquery, Sum

from agents.errors import FolderError
from agents.models import Run, WorkFile
from agents.runtime.files.folder_limits import (
    MAX_BYTES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_HISTORY_BYTES,
)
from tools.sandbox.folder import name_problem

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import ToolContext

#: Replaces a call's key for files that a person gave at the run's start.
GIVEN: Final = "given"

_NEWEST: Final = """
    SELECT path, {column} FROM (
        SELECT DISTINCT ON (path) path, size, content FROM agents_workfile
        WHERE root_id = %s AND call <> %s ORDER BY path, id DESC) f
    WHERE content IS NOT NULL {only} ORDER BY path
"""
_BEGIN: Final = """
    INSERT INTO agents_workfile (root_id, path, call, content, size)
    SELECT %s, path, '', content, size FROM (
        SELECT DISTINCT ON (path) path, size, content FROM agents_workfile
        WHERE root_id = %s ORDER BY path, id DESC) f
    WHERE content IS NOT NULL AND path NOT IN (
        SELECT path FROM agents_workfile WHERE root_id = %s)
    ON CONFLICT DO NOTHING
"""


class Folder:
    """The folder as it was before one call, even if the call is repeated."""

    def __init__(self, root_id: UUID, call: str) -> None:
        """Take the root of the run tree, and the call's idempotency key."""
        self._root_id = root_id
        self._call = call
        if call != GIVEN:  # given files: the run has not begun, and the previous one may still run
            self._begin()

    @classmethod
    def of(cls, context: ToolContext) -> Self:
        """Return the folder of a call."""
        return cls(context.root_id, context.idempotency_key)

    @classmethod
    def give(cls, root_id: UUID, files: Mapping[str, bytes]) -> None:
        """Put files into the folder of a run that is being started, in its transaction.

        Raises:
            FolderError: As for ``change``.
        """
        if not files:
            return
        cls(root_id, GIVEN).change(files)
        # Dated like the task, so that a fork at turn 0 begins with them.
        started = Run.objects.filter(pk=root_id).values("created_at")
        rows = WorkFile.objects.filter(root_id=root_id, call=GIVEN)
        rows.update(created_at=Subquery(started))

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each file, by path."""
        return dict(self._newest("size"))

    def files(self) -> dict[str, bytes]:
        """Return the content of every file, by path."""
        return {path: bytes(content) for path, content in self._newest("content")}

    def has(self, path: str) -> bool:
        """Return True if there is a file with that path."""
        return bool(self._newest("size", path=path))

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FolderError: There is no file with that path.
        """
        found = self._newest("content", path=path)
        if not found:
            raise FolderError(f"There is no file {path[:200]!r}; glob lists what there is.")
        return bytes(found[0][1])

    def change(self, files: Mapping[str, bytes | None]) -> None:
        """Write files, and delete those whose content is None; all or nothing.

        Raises:
            FolderError: A path is not valid, or a file or the folder would be too large.
        """
        for path, content in files.items():
            if problem := name_problem(path):
                raise FolderError(f"The path {path[:200]!r} {problem}.")
            if content is not None and len(content) > MAX_FILE_BYTES:
                raise FolderError(f"{path!r} has more than {MAX_FILE_BYTES} bytes.")
        with transaction.atomic():
            own = WorkFile.objects.filter(root_id=self._root_id, call=self._call)
            own.filter(path__in=files).delete()
            WorkFile.objects.bulk_create(
                WorkFile(
                    root_id=self._root_id,
                    path=path,
                    call=self._call,
                    content=content,
                    size=len(content or b""),
                )
                for path, content in files.items()
            )
            self._check()

    def _check(self) -> None:
        left = dict(self._newest("size", before="-"))  # not a call's key: own rows count, too
        if len(left) > MAX_FILES or sum(left.values()) > MAX_BYTES:
            raise FolderError(
                f"The folder would have {len(left)} files with {sum(left.values())} bytes; it may "
                f"have {MAX_FILES} with {MAX_BYTES}. Delete some first."
            )
        rows = WorkFile.objects.filter(root_id=self._root_id)
        if (rows.aggregate(n=Sum("size"))["n"] or 0) > MAX_HISTORY_BYTES:
            raise FolderError(
                f"More than {MAX_HISTORY_BYTES} bytes were written to this folder: start a new run."
            )

    def _newest(self, column: str, *, path: str = "", before: str = "") -> list[tuple[str, Any]]:
        query = _NEWEST.format(column=column, only="AND path = %s" if path else "")
        with connection.cursor() as cursor:
            cursor.execute(query, [self._root_id, before or self._call, *([path] if path else [])])
            return list(cursor.fetchall())

    def _begin(self) -> None:
        """Copy the folder of the conversation's previous run, if no call has written here."""
        if WorkFile.objects.filter(root_id=self._root_id).exclude(call=GIVEN).exists():
            return
        root = Run.objects.only("conversation_id", "created_at").get(pk=self._root_id)
        if root.conversation_id is None:
            return
        before = Run.objects.filter(
            conversation_id=root.conversation_id, parent=None, created_at__lt=root.created_at
        )
        last = before.order_by("-created_at", "-id").values_list("pk", flat=True).first()
        if last is not None:
            with connection.cursor() as cursor:
                cursor.execute(_BEGIN, [self._root_id, last, self._root_id])
