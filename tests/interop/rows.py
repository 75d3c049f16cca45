"""Rows of ``build/interop.json``: {client, version, calls, pass}, and for a failure why."""

from __future__ import annotations

import sys
from typing import Any

from tests.bench.report import merge
from tests.server_process import ROOT

RESULT = ROOT / "build" / "interop.json"


def write(row: dict[str, Any]) -> bool:
    """Print a row, and write it into the file in place of that of the same client; its ``pass``."""
    sys.stdout.write(f"{'ok  ' if row['pass'] else 'FAIL'} {row}\n")
    sys.stdout.flush()
    merge(RESULT, [row], keys=("client",))
    return bool(row["pass"])
