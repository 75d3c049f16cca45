"""Deaths of a worker around the transaction that stores a part of a document, each once."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base.query import fetch_one
from memory.actions import ingest_documents
from memory.knowledge.reader import store_part
from tests.chaos.short_claims import AFTER_COMMIT, BEFORE_COMMIT, CLAIM_SECONDS, FOLDER

if TYPE_CHECKING:
    from memory.knowledge.reader import DocumentPart
    from memory.models import Document


def _die(moment: str) -> None:
    planned = Path(os.environ.get(FOLDER, "/nonexistent")) / moment
    try:
        planned.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _store_part(document: Document, part: DocumentPart) -> bool:
    with transaction.atomic():
        stored = store_part(document, part)
        fetch_one("SELECT 1")  # what it wrote is at the server, and not committed
        if stored and document.pages_read:
            _die(BEFORE_COMMIT)
    if stored and document.pages_read:
        _die(AFTER_COMMIT)
    return stored


vars(ingest_documents)["_CLAIM"] = timedelta(seconds=CLAIM_SECONDS)
vars(ingest_documents)["store_part"] = _store_part
