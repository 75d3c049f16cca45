"""Log line for requests whose Host header is not one of HEARTBIT_ALLOWED_HOSTS."""

from __future__ import annotations

import logging
from typing import Final

from heartbit_site.base import variables

MOST_HOSTS: Final = 100
_SHOWN: Final = 100  # characters of a host


class RefusedHosts(logging.Filter):
    """Filter that turns Django's traceback into one line, once for each host of a process.

    Hosts beyond ``MOST_HOSTS`` are not logged: clients choose them, and could fill the log.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logged: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; return True if its host is logged for the first time."""
        request = getattr(record, "request", None)
        host = "" if request is None else request.META.get("HTTP_HOST", "")[:_SHOWN]
        if host in self._logged or len(self._logged) >= MOST_HOSTS:
            return False
        self._logged.add(host)
        record.msg = "refused a request for the host %r with 400: add it to %s if it is yours"
        record.args = (host, variables.ALLOWED_HOSTS.name)
        record.exc_info = record.exc_text = None
        return True
