"""Rows of ``build/interop.json``: {client, version, calls, pass}, and for a failure why."""

from __future__ import annotations

import sys
from typing import Any

from tests.bench.report import merge
from tests.server_process import ROOT

RESULT = ROOT / "build" / "interop.json"


def say(row: dict[str, Any]) -> None:
    """Print a row."""
    sys.stdout.write(f"{'ok  ' if row['pass'] else 'FAIL'} {row}\n")
    sys.stdout.flush()


def write(rows: list[dict[str, Any]]) -> int:
    """Write rows into the file, in place of those of the same clients; 1 when one failed."""
    merge(RESULT, rows, keys=("client",))
    return 0 if all(row["pass"] for row in rows) else 1
