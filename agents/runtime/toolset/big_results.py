"""Results of tools that are too long for the model: stored whole as artifacts of their run."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Sum

from agents.errors import ArtifactNotFoundError, ArtifactRefusedError, JournalAwayError
from agents.models import Artifact
from agents.querysets import stored_artifacts
from agents.runtime.files.pictures import addresses_of, store_pictures
from heartbit_site.base import orm
from heartbit_site.base.artifact_names import artifact_name
from heartbit_site.base.pictures import Picture, PictureError, reencode
from heartbit_site.base.reader_process import ReadersBusyError, ReadingTimeError, read_aside
from tools.calls.result import ToolResult, truncate

READER: Final = "read_artifact"  # tool that reads stored results
MAX_BYTES: Final = 10_000_000  # per artifact; the rest of a longer result is dropped
MAX_TREE_BYTES: Final = 100_000_000  # for all artifacts of a run tree; further results are cut


def _reencoded(files: Sequence[bytes]) -> tuple[list[Picture], list[str]]:
    """Return pictures re-encoded, and a sentence in brackets for each one that is not accepted."""
    pictures, refused = [], []
    for number, data in enumerate(files, start=1):
        try:
            pictures.append(reencode(data, f"Picture {number} of the result"))
        except (PictureError, ReadersBusyError, ReadingTimeError) as error:
            refused.append(f"\n[{error}]")
    return pictures, refused


class BigResults:
    """Store of the long results of one run.

    Args:
        workspace_id: The run's workspace, which never takes all readers of pictures.
        run_id: The run.
        root_id: The root of its run tree.
        max_output_bytes: Bytes of a result that the model sees.
    """

    def __init__(
        self, workspace_id: int, run_id: UUID, root_id: UUID, max_output_bytes: int
    ) -> None:
        self._workspace_id = workspace_id
        self._run_id = run_id
        self._root_id = root_id
        self._max_output_bytes = max_output_bytes

    async def store_from_loop(self, call_id: str, tool: str, done: ToolResult) -> ToolResult:
        """Store a result as ``store`` does, with its pictures read outside the ORM's threads.

        Raises:
            JournalAwayError: The database is unavailable.
        """
        read = None
        if done.pictures:
            try:
                read = await read_aside(partial(_reencoded, done.pictures), self._workspace_id)
            except (ReadersBusyError, ReadingTimeError) as error:
                read = [], [f"\n[{error}]"]
        return await orm.run_in_thread(partial(self.store, call_id, tool, done, read))

    def store(
        self,
        call_id: str,
        tool: str,
        done: ToolResult,
        read: tuple[list[Picture], list[str]] | None = None,
    ) -> ToolResult:
        """Store a result's whole text, if it is long, and its pictures, re-encoded.

        Idempotent for the same result. Joins the caller's transaction, if there is one.

        Args:
            call_id: The call.
            tool: The tool's name.
            done: The result.
            read: Its pictures re-encoded, and a sentence for each one that is not accepted; None:
                they are re-encoded now.

        Returns:
            The text, or its beginning with a reference to the artifact, and the addresses of the
            pictures; a picture that is not accepted is a sentence of the text.

        Raises:
            JournalAwayError: The database is unavailable.
        """
        try:
            kept = self._with_pictures(call_id, done, read) if done.pictures else done
            return self._store_text(call_id, tool, kept) if done.whole else kept
        except DatabaseError as error:
            raise JournalAwayError(f"a result could not be stored: {error}") from error

    def _with_pictures(
        self, call_id: str, done: ToolResult, read: tuple[list[Picture], list[str]] | None
    ) -> ToolResult:
        pictures, refused = read or _reencoded(done.pictures)
        size = sum(len(one.content) for one in pictures)
        used = stored_artifacts(self._root_id).aggregate(n=Sum("size"))["n"] or 0
        if used + size > MAX_TREE_BYTES:
            pictures, refused = [], ["\n[The run has no room for the pictures of the result.]"]
        with transaction.atomic():
            store_pictures(self._run_id, pictures, call_id)
        images = addresses_of(self._run_id, pictures, call_id)
        content = done.content + "".join(refused)
        return replace(done, content=content, pictures=(), images=images)

    def _store_text(self, call_id: str, tool: str, done: ToolResult) -> ToolResult:
        data = done.whole.encode()
        kept = data[:MAX_BYTES].decode("utf-8", "ignore").encode()
        digest = hashlib.sha256(kept).hexdigest()
        name = f"{tool}-{call_id}-{digest[:8]}"
        artifact = Artifact(
            run_id=self._run_id,
            name=name,
            content_type=_content_type(done.whole),
            content=kept,
            size=len(kept),
            sha256=digest,
        )
        with transaction.atomic():
            used = stored_artifacts(self._root_id).exclude(name=name).aggregate(n=Sum("size"))
            if (used["n"] or 0) + len(kept) > MAX_TREE_BYTES:
                return done
            Artifact.objects.bulk_create([artifact], ignore_conflicts=True)
        marker = "\n[cut: the first {kept} of {size} bytes. " + _reference(name, kept, data) + "]"
        content = truncate(done.whole, self._max_output_bytes, marker)
        return ToolResult(content, done.status, artifact=name, images=done.images)


def store_file(run_id: UUID, root_id: UUID, call_id: str, name: str, content: bytes) -> str:
    """Store a file that a call produced; return the artifact's name.

    Raises:
        ArtifactRefusedError: The file, or all artifacts of the run tree, would be too large.
    """
    digest = hashlib.sha256(content).hexdigest()
    kept = artifact_name(call_id, digest, name)
    with transaction.atomic():
        used = stored_artifacts(root_id).exclude(name=kept).aggregate(n=Sum("size"))["n"] or 0
        if len(content) > MAX_BYTES or used + len(content) > MAX_TREE_BYTES:
            raise ArtifactRefusedError(
                f"The file {name[:200]!r} was not stored: a file may have {MAX_BYTES} bytes, and "
                f"all artifacts of a run {MAX_TREE_BYTES}."
            )
        row = Artifact(
            run_id=run_id,
            name=kept,
            content_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
            content=content,
            size=len(content),
            sha256=digest,
        )
        Artifact.objects.bulk_create([row], ignore_conflicts=True)
    return kept


def read_stored(root_id: UUID, name: str) -> bytes:
    """Return the content of an artifact that a run tree stored.

    Raises:
        ArtifactNotFoundError: The run tree stored no artifact with that name.
    """
    content = stored_artifacts(root_id).filter(name=name).values_list("content", flat=True).first()
    if content is None:
        raise ArtifactNotFoundError(f"This run has stored no artifact {name[:200]!r}.")
    return bytes(content)


def _reference(name: str, kept: bytes, data: bytes) -> str:
    which = "The whole" if kept == data else f"The beginning, {len(kept)} bytes,"
    return f"{which} is stored as artifact {name}: read on with {READER} from offset {{kept}}"


def _content_type(text: str) -> str:
    is_json = text[:1] + text[-1:] in ("{}", "[]")
    return "application/json" if is_json else "text/plain"
