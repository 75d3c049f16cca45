"""Runs scenarios one after the other; what a failed one left behind is kept."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chaos import report, worker_kill
from tests.installation import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def play(names: Sequence[str], *, runs: int, seed: int) -> list[dict[str, Any]]:
    """The rows of these scenarios."""
    return [SCENARIOS[name](runs, seed) for name in names]


def _worker_kill(runs: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="chaos") as name:
        directory = Path(name)
        verdict = worker_kill.run(worker_kill.Load(runs), seed=seed, directory=directory)
        recovery = worker_kill.target_recovery()
        row = report.row("R1", verdict, runs=runs, seed=seed, recovery_s=recovery)
        if not row["pass"]:
            kept = BUILD / f"chaos-R1-{seed}"
            shutil.copytree(directory, kept, dirs_exist_ok=True)
            row["kept"] = str(kept.relative_to(BUILD.parent))
        return row


SCENARIOS: dict[str, Callable[[int, int], dict[str, Any]]] = {"R1": _worker_kill}
