"""Names of queues on a command line. No Django."""

from __future__ import annotations

import re
from typing import Final

from heartbit_site.cli.terminal.errors import UsageError

QUEUE_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]*")


def parse_queues(text: str) -> list[str]:
    """Return the queues that ``--queues`` names.

    Raises:
        UsageError: It names none, or one that is no queue's name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not all(map(QUEUE_NAME.fullmatch, names)):
        raise UsageError(
            f"--queues {text!r} names no queue: write names of lower-case letters, digits, . - _ "
            "with commas between them."
        )
    return names
