"""iCalendar parsing and writing in a separate process.

Invitations are written by outsiders, and a few lines of them can keep a parser of recurrence rules
busy for hours. A sandboxed process has enforced limits on time and memory; it also keeps the
parser's import (a third of a second) out of every worker.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from heartbit_site.base.reader_process import ReaderError, ReaderLimits, read_on_loop
from tools.connectors.calendars.events import CalendarError

_LIMITS: Final = ReaderLimits(
    seconds=40.0, cpu_seconds=20, memory_bytes=1_000_000_000, output_bytes=32_000_000
)
_SCRIPT: Final = Path(__file__).with_name("icalendar_script.py")


async def run(operation: str, **asked: Any) -> dict[str, Any]:
    """Carry out an operation of ``icalendar_script``.

    Raises:
        CalendarError: The operation is refused, or took too much time or memory.
    """
    given = json.dumps({"operation": operation, **asked}).encode()
    try:
        output = await read_on_loop(_SCRIPT, [], given, _LIMITS)
    except ReaderError:
        raise CalendarError(
            "Reading the calendar's entries takes too much time or memory."
        ) from None
    answer: dict[str, Any] = json.loads(output)
    if "refused" in answer:
        raise CalendarError(answer["refused"])
    return answer
