"""Logs on standard error, which may be a terminal, with few lines for an outage.

While PostgreSQL or Valkey is unavailable, every loop of a process logs this several times a second,
and libraries add the traceback. The first line of each cause and component is written at once,
without a traceback; repetitions are counted for ten seconds, and then written as one line.
"""

from __future__ import annotations

import copy
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from heartbit_site.base import log_context, variables
from heartbit_site.base.database_faults import is_away, one_line
from heartbit_site.base.terminal_text import clean

WINDOW_SECONDS: Final = 10.0
#: By name, because importing the clients would make every short command slow.
_BROKER: Final = frozenset(
    {
        "redis.exceptions.ConnectionError",
        "redis.exceptions.TimeoutError",
        "kombu.exceptions.OperationalError",
    }
)
_POOL: Final = "psycopg.pool"  # it logs the loss of each of its connections
_UNAVAILABLE: Final = 503
_MOST_CHARACTERS: Final = 400  # of a message, to which some libraries append a stack
_SAME_CHARACTERS: Final = 40  # of a reason, to recognize it in a message


@dataclass(slots=True)
class _Repeated:
    """A line that was written, and its repetitions since."""

    began: float
    last: logging.LogRecord
    times: int = 0


class OutageHandler(logging.StreamHandler[Any]):
    """A handler on standard error that counts the lines of an outage."""

    def __init__(
        self,
        stream: Any = None,
        *,
        window_seconds: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the stream, None for standard error, and the interval for counting repetitions."""
        super().__init__(stream)
        self._window = window_seconds
        self._clock = clock
        self._repeated: dict[tuple[str, str], _Repeated] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless it repeats one of an outage."""
        if not is_of_outage(record):
            super().emit(record)
            return
        key, now = (record.name, str(record.msg)), self._clock()
        known = self._repeated.get(key)
        if known is not None and now - known.began < self._window:
            known.last, known.times = record, known.times + 1
            if known.times == 1:
                self._write_later(key)
            return
        if known is not None:
            self._write_count(key)
        self._repeated[key] = _Repeated(now, record)
        super().emit(in_one_line(record))

    def _write_later(self, key: tuple[str, str]) -> None:
        timer = threading.Timer(self._window, self.write_count, (key,))
        timer.daemon = True
        timer.start()

    def write_count(self, key: tuple[str, str]) -> None:
        """Write how often a line was repeated, if it was."""
        self.acquire()
        try:
            self._write_count(key)
        finally:
            self.release()

    def _write_count(self, key: tuple[str, str]) -> None:
        known = self._repeated.pop(key, None)
        if known is None or not known.times:
            return
        seconds = self._clock() - known.began
        super().emit(in_one_line(known.last, f" (repeated {known.times} times in {seconds:.0f} s)"))


def is_of_outage(record: logging.LogRecord) -> bool:
    """Return True if a record reports that PostgreSQL or Valkey is unavailable."""
    if record.name.startswith(_POOL) or getattr(record, "status_code", 0) == _UNAVAILABLE:
        return True
    error = _error_of(record)
    return error is not None and (is_away(error) or _is_of_broker(error))


def in_one_line(record: logging.LogRecord, end: str = "") -> logging.LogRecord:
    """Return a copy of a record as one line: the reason instead of the traceback."""
    line = copy.copy(record)
    said = " ".join(record.getMessage().split())[:_MOST_CHARACTERS]
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and one_line(error)[:_SAME_CHARACTERS] not in said:
        said = f"{said} ({one_line(error)})"
    line.msg, line.args = f"{said}{end}", ()
    line.exc_info = line.exc_text = line.stack_info = None
    return line


def _error_of(record: logging.LogRecord) -> BaseException | None:
    if record.exc_info and record.exc_info[1] is not None:
        return record.exc_info[1]
    values = record.args if isinstance(record.args, tuple) else ()
    return next((value for value in values if isinstance(value, BaseException)), None)


def _is_of_broker(error: BaseException) -> bool:
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    return not _BROKER.isdisjoint(names)


#: Format for a process that does one thing, such as a worker.
LINE: Final = "%(asctime)s %(levelname)-7s %(message)s"


class CleanFormatter(logging.Formatter):
    """A formatter that strips terminal control from records and tracebacks, which quote models."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the clean text of a record."""
        return clean(super().format(record))


class JsonFormatter(CleanFormatter):
    """A formatter that makes one line of JSON of a record, in ASCII, with its run and its trace."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON text of a record."""
        run = log_context.RUN.get()
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "run_id": None if run is None else str(run),
            "trace_id": log_context.trace_id() or None,
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in values.items() if value is not None})


def make_formatter(fmt: str) -> CleanFormatter:
    """Return the formatter of a process: that of HEARTBIT_LOG_FORMAT, for text in a format."""
    kind = JsonFormatter if variables.LOG_FORMAT.read() == "json" else CleanFormatter
    return kind(fmt)


def log_to_stderr(level: str | int, line: str = LINE, *, force: bool = False) -> None:
    """Send the root logger's records to standard error.

    Args:
        level: Lowest level that is logged.
        line: Format of a record.
        force: Replace existing handlers; if False, existing handlers are kept and nothing changes.
    """
    handler = OutageHandler()
    handler.setFormatter(make_formatter(line))
    logging.basicConfig(level=level, handlers=[handler], force=force)
