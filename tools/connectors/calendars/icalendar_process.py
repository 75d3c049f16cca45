"""iCalendar, read and written in a process of its own.

Invitations are written by outsiders, and a few lines of them can keep a parser of recurrence rules
busy for hours. A process has limits of time and memory that hold; it also keeps the parser's import
(a third of a second) out of every worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from tools.connectors.calendars.events import CalendarError

TIMEOUT_SECONDS: Final = 40.0
_SCRIPT: Final = Path(__file__).with_name("icalendar_script.py")


async def run(operation: str, **asked: Any) -> dict[str, Any]:
    """Carry out an operation of ``icalendar_script``.

    Raises:
        CalendarError: It is refused, or took too much time or memory.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(_SCRIPT)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    given = json.dumps({"operation": operation, **asked}).encode()
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            output, _ = await process.communicate(given)
    except TimeoutError:
        raise CalendarError("The calendar's entries take too long to read.") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        raise CalendarError("The calendar's entries take too much time or memory to read.")
    answer: dict[str, Any] = json.loads(output)
    if "refused" in answer:
        raise CalendarError(answer["refused"])
    return answer
