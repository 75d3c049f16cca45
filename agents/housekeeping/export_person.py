"""Export of a person's data: what their erasure would delete, as a ZIP archive."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO, Final
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.db.models import Q, QuerySet

from agents.actions.erase_runs import reached_runs
from agents.actions.person_places import PersonPlace, Reached, places_of, tables_of
from agents.housekeeping import archive_files
from agents.housekeeping.archive_runs import directory
from agents.housekeeping.erase_person import ArchivedRuns, find_archived
from agents.models import Conversation, Run, StateEntry
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.secret_text import SecretTextField
from heartbit_site.base.people import User
from heartbit_site.base.rights import require

ARCHIVED: Final = "archived_runs.jsonl"
_ROWS_AT_ONCE: Final = 100
_OF_THE_MACHINE: Final = frozenset({"terminal", "inline", "system"})


def export_person(workspace: Workspace, user: User, file: BinaryIO, *, by: Actor) -> int:
    """Write a person's data of a workspace into a ZIP archive; return the number of rows.

    The archive has a file of JSON lines for each table of ``agents.actions.person_places``, with
    the rows that an erasure with runs would delete, and of rows that stay the columns that it would
    empty. Archived runs are in a file of their own. Bytes are in Base64. Secrets are left out, and
    what is private, unless the person or a command on this machine exports it.

    Args:
        workspace: Data of other workspaces is left out.
        user: The person.
        file: The archive, open for writing.
        by: Author, for the audit.

    Raises:
        ArchiveError: An archive of runs cannot be read.
        ArchivingError: Another process is archiving.
    """
    require(by, "workspace:manage", workspace_id=workspace.pk)
    with ExitStack() as stack:
        archived: set[UUID] = set()
        lines: Iterator[str] = iter(())
        is_whole = by.via in _OF_THE_MACHINE or by.user_id == user.pk
        if directory().is_dir():
            stack.enter_context(archive_files.locked(directory()))
            archives = ArchivedRuns(directory(), workspace.slug)
            archived = find_archived(archives, workspace, user, agent="")
            private = set() if is_whole else archives.private_to_others(by.user_id)
            archived = {one for one in archived if str(one) not in private}
            lines = archives.lines(without=private)
        stack.enter_context(transaction.atomic())
        packed = stack.enter_context(zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED))
        reached = _reached(workspace, user, archived)
        if not is_whole:
            reached = _without_private(reached, by.user_id)
        count = 0
        for name, tables in _tables(reached, is_whole=is_whole).items():
            rows = (row for table, place in tables for row in _rows(table, place))
            count += _write(packed, f"{name}.jsonl", map(_line, rows))
        count += _write(packed, ARCHIVED, lines)
        audit.record_person(by, "person.export", user, workspace, {"rows": count})
    return count


def _reached(workspace: Workspace, user: User, archived: set[UUID]) -> Reached:
    roots, conversations = reached_runs(workspace, user, "", archived)
    here = Run.objects.filter(root_id__in=roots).values_list("pk", flat=True)
    runs = archived.union(here)
    return Reached(workspace, user, "", frozenset(roots), frozenset(conversations), frozenset(runs))


def _without_private(reached: Reached, reader: int | None) -> Reached:
    """Return what is reached without the private runs and conversations of others."""
    private = Q(private_to__isnull=False) & ~Q(private_to=reader)
    runs = set(Run.objects.filter(private, root__in=reached.roots).values_list("pk", flat=True))
    talks = Conversation.objects.filter(private, pk__in=reached.conversations)
    return replace(
        reached,
        roots=reached.roots - runs,
        conversations=reached.conversations - set(talks.values_list("pk", flat=True)),
        runs=reached.runs - runs,
    )


def _tables(
    reached: Reached, *, is_whole: bool
) -> dict[str, list[tuple[QuerySet[Any], PersonPlace | None]]]:
    """Return the rows to export by the name of their file; a table has a file."""
    found: dict[str, list[tuple[QuerySet[Any], PersonPlace | None]]] = {}
    for place in places_of(reached):
        first, *others = tables_of(place, reached)
        if first.model is StateEntry and not is_whole:
            first = first.filter(Q(conversation=None) | Q(conversation__in=reached.conversations))
        found.setdefault(first.model._meta.db_table, []).append((first, place))
        for rows in others:
            found.setdefault(rows.model._meta.db_table, []).append((rows, None))
    return found


def _rows(rows: QuerySet[Any], place: PersonPlace | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table with the columns that an erasure would delete."""
    names = [field.attname for field in rows.model._meta.concrete_fields if not _is_secret(field)]
    if place is not None and place.blanked:
        names = [rows.model._meta.pk.attname, *place.blanked]
    yield from rows.order_by("pk").values(*names).iterator(_ROWS_AT_ONCE)


def _is_secret(field: Any) -> bool:
    # The primary key of several columns repeats them.
    return isinstance(field, SecretTextField | models.CompositePrimaryKey)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, default=_json)


def _json(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return DjangoJSONEncoder().default(value)


def _write(packed: zipfile.ZipFile, name: str, lines: Iterator[str]) -> int:
    """Write the lines of a file, unless there are none; return their number."""
    first = next(lines, None)
    if first is None:
        return 0
    count = 1
    with packed.open(name, "w", force_zip64=True) as out:
        out.write(first.encode() + b"\n")
        for line in lines:
            out.write(line.encode() + b"\n")
            count += 1
    return count
