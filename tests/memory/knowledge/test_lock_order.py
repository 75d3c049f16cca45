"""A document that is replaced, or whose base is removed, while a worker stores a part of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils import timezone

from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from memory.actions.bases import remove_base, save_base
from memory.actions.documents import save_document
from memory.choices import DocumentState
from memory.knowledge.passages import PassageText
from memory.knowledge.reader import DocumentPart, store_part
from memory.models import Document
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from heartbit_site.base.models import Workspace
    from memory.models import KnowledgeBase

_BLOCKED = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"


def replace(base: KnowledgeBase) -> object:
    return save_document(base, "a.md", b"Another.", by=SYSTEM)


def remove(base: KnowledgeBase) -> object:
    return remove_base(base, by=SYSTEM)


@pytest.mark.parametrize("other", [replace, remove])
def test_both_come_to_their_end(
    workspace: Workspace, other: Callable[[KnowledgeBase], object]
) -> None:
    base, _ = save_base(workspace, "handbook", description="", by=SYSTEM)
    row, _ = save_document(base, "a.md", b"One.", by=SYSTEM)
    # Claimed for an hour, so that no worker of another test reads it.
    until = timezone.now() + timedelta(hours=1)
    rows = Document.objects.filter(pk=row.pk)
    rows.update(state=DocumentState.READING, claimed_until=until, claim=F("claim") + 1)
    row.refresh_from_db()
    others: list[Future[object]] = []

    def insert_late(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        """Let the other one come to the locked document before its passages are inserted."""
        if "INSERT INTO memory_passage" in sql:
            with (
                connection.cursor() as cursor,
                psycopg.connect(settings.DATABASE_URL, autocommit=True) as watching,
            ):
                own = cursor.connection.info.backend_pid
                others.append(orm.shared().submit(other, base))
                wait_until(
                    lambda: watching.execute(_BLOCKED, (own,)).fetchone(), what="the other waits"
                )
        return execute(sql, params, many, context)

    part = DocumentPart([PassageText(1, (), "One.")], pages=1, pages_read=1)
    with connection.execute_wrapper(insert_late):
        assert store_part(row, part)
    [ended] = others
    ended.result(timeout=20)
    if other is replace:
        assert Document.objects.get(pk=row.pk).state == DocumentState.QUEUED
    else:
        assert not Document.objects.filter(pk=row.pk).exists()
