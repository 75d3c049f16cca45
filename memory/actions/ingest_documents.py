"""Read pending documents, part by part."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from heartbit_site.base.query import fetch_one
from heartbit_site.base.reader_process import WAIT_SECONDS, ReadersBusyError
from memory.choices import DocumentState
from memory.errors import UnreadableDocumentError
from memory.knowledge.reader import PART_TIMEOUT_SECONDS, read_part, store_part
from memory.models import Document, DocumentContent

logger = logging.getLogger(__name__)

#: Parts that are read at the same time in the whole installation: each is a busy process.
MOST_AT_ONCE: Final = 4
MOST_ATTEMPTS: Final = 3
_CLAIM: Final = timedelta(seconds=PART_TIMEOUT_SECONDS + WAIT_SECONDS + 15)
_LOCK: Final = 7_711  # of the claims, so that two workers do not pass the limit together


def ingest_documents(
    *, goes_on: Callable[[], bool], after_part: Callable[[int], object] | None = None
) -> int:
    """Read documents of all workspaces until ``goes_on`` returns False; return the number of parts.

    A document is claimed for one part, whose passages are stored in one transaction with its
    progress. A killed worker's part is read again when its claim has expired, and a late write of
    the former worker is refused: no passage is lost or stored twice.

    Args:
        goes_on: Returns False to stop before the next part.
        after_part: Called with the workspace's id after each part, and after a failure.
    """
    done = 0
    while goes_on() and (document := _claim_one()) is not None:
        try:
            _read_one(document)
        except UnreadableDocumentError as problem:
            _fail(document, str(problem))
        except ReadersBusyError:
            _put_back(document)
            break
        if after_part is not None:
            after_part(document.base.workspace_id)
        done += 1
    return done


def _claim_one() -> Document | None:
    """Claim the longest waiting document; None if there is none, or enough are being read."""
    with transaction.atomic():
        fetch_one("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if Document.objects.claimed().count() >= MOST_AT_ONCE:
            return None
        rows = Document.objects.claimable().select_for_update(skip_locked=True, of=("self",))
        row: Document | None = rows.first()
        if row is None:
            return None
        claim = {"claim": F("claim") + 1, "attempts": F("attempts") + 1}
        now = {"claimed_until": Now() + _CLAIM, "touched_at": Now()}
        Document.objects.filter(pk=row.pk).update(state=DocumentState.READING, **claim, **now)
        claimed: Document = Document.objects.select_related("base").get(pk=row.pk)
    return claimed


def _read_one(document: Document) -> None:
    if document.attempts > MOST_ATTEMPTS:
        raise UnreadableDocumentError(
            f"{document.name} was started {MOST_ATTEMPTS} times, and each time the worker "
            f"stopped: upload it again, or split it."
        )
    content = DocumentContent.objects.filter(document=document).first()
    if content is None:  # it was deleted a moment ago
        return
    part = read_part(
        document.name, document.kind, bytes(content.data), pages_read=document.pages_read
    )
    store_part(document, part)


def _put_back(document: Document) -> None:
    """End a claim on a document that was not looked at; the attempt does not count."""
    mine = Document.objects.filter(pk=document.pk, claim=document.claim)
    mine.update(claimed_until=None, attempts=F("attempts") - 1)


def _fail(document: Document, problem: str) -> None:
    logger.info("document %d cannot be read", document.pk)
    mine = Document.objects.filter(pk=document.pk, claim=document.claim)
    mine.update(
        state=DocumentState.FAILED,
        problem=problem[:500],
        claimed_until=None,
        updated_at=Now(),
    )
