"""Deaths of a worker around the transaction that stores memories, each once."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.runs import lease, transactional
from heartbit_site.base.query import fetch_one
from tests.kinds.dying import AFTER_COMMIT, BEFORE_COMMIT, FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.journal.events import Event

_real = transactional.in_one_transaction


def _die(moment: str) -> None:
    planned = Path(os.environ.get(FOLDER, "/nonexistent")) / moment
    if planned.exists():
        planned.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def _in_one_transaction(
    run_id: Any, token: int, folded: int, body: Callable[[], Event]
) -> tuple[Event, dict[str, Any]]:
    def dying() -> Event:
        event = body()
        fetch_one("SELECT 1")  # what it wrote is at the server, and not committed
        _die(BEFORE_COMMIT)
        return event

    done = _real(run_id, token, folded, dying)
    _die(AFTER_COMMIT)
    return done


vars(lease)["in_one_transaction"] = _in_one_transaction
