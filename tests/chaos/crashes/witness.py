"""Writes down what each worker wrote to journals, under which token, and what was refused.

One file a process: with the journals it proves who wrote what, and that nobody wrote too late.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from agents.errors import LeaseLostError
from agents.runs import lease
from agents.runs.claims import ClaimedRun
from agents.runs.lease import Lease
from agents.runtime.execution import run_executor
from agents.runtime.recovery.control_session import ControlSession
from tests.chaos.crashes.wrapping import wrap, wrap_plain

if TYPE_CHECKING:
    from pathlib import Path

_FUNCTION = re.compile(r"heartbit_(\w+)\(")
_LOST = "HB001"
#: Between two beats of a worker that lives passes less.
FROZEN_SECONDS = 3.0
LATE_SECONDS = 0.3


class Witness:
    """Appends one line for each write."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._beaten = time.monotonic()

    def install(self) -> None:
        """Look over the lease's shoulder."""
        wrap(run_executor, "claim", self._claim)
        wrap(ControlSession, "_beat", self._beat)
        wrap(Lease, "_write", self._write)
        wrap_plain(Lease, "record_here", self._record_here)
        wrap_plain(lease, "in_one_transaction", self._transact)

    async def _beat(self, inner: Any, *args: Any) -> bool:
        """A thawed worker hears of its death a little late: it has the time to do harm."""
        if time.monotonic() - self._beaten > FROZEN_SECONDS:
            await asyncio.sleep(LATE_SECONDS)
        self._beaten = time.monotonic()
        known: bool = await inner(*args)
        return known

    async def _claim(self, inner: Any, *args: Any, **kwargs: Any) -> Any:
        claimed = await inner(*args, **kwargs)
        if isinstance(claimed, ClaimedRun):
            self._tell("claim", claimed.id, claimed.token, seq=claimed.last_seq)
        return claimed

    async def _write(self, inner: Any, held: Lease, query: str, parameters: Any) -> Any:
        found = _FUNCTION.search(query)
        what = found[1] if found else query
        run, token = parameters[:2]
        try:
            row = await inner(held, query, parameters)
        except LeaseLostError:
            self._tell(what, run, token, accepted=False)
            raise
        except BaseException:  # stopped while the answer was on its way: nobody knows
            self._tell(what, run, token, accepted=None)
            raise
        accepted = not row.get("moved", False) and row.get("released", True)
        self._tell(what, run, token, seq=row.get("last_seq"), accepted=bool(accepted))
        return row

    def _record_here(self, inner: Any, held: Lease, folded: int, *events: Any) -> Any:
        run, token = held._held()
        try:
            recorded = inner(held, folded, *events)
        except BaseException as error:
            lost = isinstance(error, LeaseLostError)
            self._tell("record", run, token, accepted=False if lost else None)
            raise
        self._tell("record", run, token, seq=recorded[-1].seq if recorded else folded)
        return recorded

    def _transact(self, inner: Any, run: Any, token: int, *args: Any) -> Any:
        try:
            event, row = inner(run, token, *args)
        except Exception as error:
            lost = getattr(error.__cause__ or error, "sqlstate", "") == _LOST
            self._tell("transact", run, token, accepted=False if lost else None)
            raise
        self._tell("transact", run, token, seq=row["last_seq"])
        return event, row

    def _tell(
        self,
        what: str,
        run: Any,
        token: int,
        *,
        seq: int | None = None,
        accepted: bool | None = True,
    ) -> None:
        line = {
            "at": time.time(),
            "pid": os.getpid(),
            "what": what,
            "run": str(run),
            "token": token,
            "seq": seq,
            "accepted": accepted,
        }
        with self._lock, (self._directory / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
