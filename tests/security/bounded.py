"""One scenario in a process of its own, and not for ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.security.scenarios import SCENARIOS
from tests.security.tally import Tally
from tests.server_process import ROOT
from tests.sizes import VARIABLE

SECONDS = 1800
_PARTING_SECONDS = 60


def played(name: str, *, seconds: float = SECONDS) -> dict[str, Any]:
    """The scenario's row of ``build/security.json``; a failed one when it left none.

    Args:
        name: One of ``SCENARIOS``.
        seconds: After these it is ended.
    """
    with tempfile.TemporaryDirectory() as place:
        row = Path(place) / "row.json"
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.security.play", name, str(row)],
            cwd=ROOT,
            env={**os.environ, VARIABLE: "full"},
            stdout=sys.stderr,
        )
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return _unplayed(name, f"it had not ended after {seconds:,g} s")
        finally:
            _end(process)
        if not row.exists():
            return _unplayed(name, f"its process ended with {code} and left no row")
        found: dict[str, Any] = json.loads(row.read_text())
        return found


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it, so that pytest ends what its tests started; kill it if that does not do."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=_PARTING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _unplayed(name: str, why: str) -> dict[str, Any]:
    row = Tally().row(name, SCENARIOS[name].title, code=1)
    row["also"]["invalid"] = [why]
    return row
