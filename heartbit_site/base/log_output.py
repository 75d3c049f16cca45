"""Logs on standard error, which may be a terminal."""

from __future__ import annotations

import logging
from typing import Final

from heartbit_site.base.log_outages import OutageHandler
from heartbit_site.base.terminal_text import clean

#: Format for a process that does one thing, such as a worker.
LINE: Final = "%(asctime)s %(levelname)-7s %(message)s"


class CleanFormatter(logging.Formatter):
    """A formatter that strips terminal control from records and tracebacks, which quote models."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the clean text of a record."""
        return clean(super().format(record))


def log_to_stderr(level: str | int, line: str = LINE, *, force: bool = False) -> None:
    """Send the root logger's records to standard error.

    Args:
        level: Lowest level that is logged.
        line: Format of a record.
        force: Replace existing handlers; otherwise they stay and nothing is changed.
    """
    handler = OutageHandler()
    handler.setFormatter(CleanFormatter(line))
    logging.basicConfig(level=level, handlers=[handler], force=force)
