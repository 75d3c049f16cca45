"""Exit of a process that cannot start: a sentence on stderr and exit code 3, no traceback.

For entry points of other programs (uvicorn, manage.py). The command line has its own in
`heartbit_site.cli.terminal.errors`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Final

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.terminal_text import clean

CANNOT_START: Final = 3


@contextlib.contextmanager
def refusal() -> Iterator[None]:
    """Exit the process when the block raises an error that a person can mend."""
    try:
        yield
    except HeartbitError as error:
        sys.stderr.write(f"heartbit: {clean(str(error))}\n")
        sys.exit(CANNOT_START)
