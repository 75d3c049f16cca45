"""Programs of others: run to their end, with what they print as the proof."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from tests.interop import installed
from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.interop.doors.heartbit import Heartbit

SECONDS = 90
_SCRIPTS = ROOT / "tests" / "interop" / "doors" / "node"


def run(
    words: Sequence[str], *, statuses: Sequence[int] = (0,), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program.

    Raises:
        AssertionError: It ended with another status; the message is what it said.
    """
    done = subprocess.run(
        words,
        cwd=installed.HOME,
        env={**os.environ, "NO_COLOR": "1", **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = f"{done.stdout[-500:]}{done.stderr[-500:]}"
    assert done.returncode in statuses, f"it ended with {done.returncode}: {said}"
    return done


def script(name: str, heartbit: Heartbit) -> int:
    """Run a script in ``node``, which prints ``{"calls": N}`` last; N.

    It runs as a copy beside the packages, where Node looks for them.
    """
    folder = installed.HOME / "scripts"
    shutil.copytree(_SCRIPTS, folder, dirs_exist_ok=True)
    words = [str(installed.NODE_BINARY), str(folder / name)]
    done = run(words, HEARTBIT_URL=heartbit.url, HEARTBIT_KEY=heartbit.key)
    told: Any = json.loads(done.stdout.splitlines()[-1])
    return int(told["calls"])
