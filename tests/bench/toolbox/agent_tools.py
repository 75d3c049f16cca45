"""Tools of the default effect class; each call is a line of the outside ledger, if there is one."""

from __future__ import annotations

import json
import os
import time
from typing import Final

from heartbit_site.base.toolspec import tool
from tests.bench.toolbox import straight  # noqa: F401  workers load its kind with the tools

APP: Final = "tests.bench.toolbox"
LEDGER: Final = "BENCH_LEDGER"  # an environment variable: the ledger's file


@tool
def look_up(about: str) -> str:
    """Look something up.

    Args:
        about: What.
    """
    return _begun("look_up", about)


@tool
def note(about: str) -> str:
    """Note that something was seen.

    Args:
        about: What.
    """
    return _begun("note", about)


def _begun(name: str, about: str) -> str:
    path = os.environ.get(LEDGER)
    if path:
        line = {"op": f"{name} {about}", "at": time.time(), "pid": os.getpid()}
        with open(path, "ab", buffering=0) as ledger:  # noqa: PTH123  one write, appended whole
            ledger.write(json.dumps(line).encode() + b"\n")
    return f"{name}: {about}"
