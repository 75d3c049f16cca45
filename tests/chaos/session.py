"""Runs scenarios one after the other; what a failed one left behind is kept."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chaos import report, worker_kill
from tests.chaos.model_faults import scenario as model_faults
from tests.installation import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def play(names: Sequence[str], *, runs: int, seed: int) -> list[dict[str, Any]]:
    """The rows of these scenarios."""
    return [SCENARIOS[name](runs, seed) for name in names]


def _worker_kill(runs: int, seed: int) -> dict[str, Any]:
    def play(directory: Path) -> dict[str, Any]:
        verdict = worker_kill.run(worker_kill.Load(runs), seed=seed, directory=directory)
        recovery = worker_kill.target_recovery()
        return report.row("R1", verdict, runs=runs, seed=seed, recovery_s=recovery)

    return _kept("R1", seed, play)


def _model_faults(_runs: int, seed: int) -> dict[str, Any]:
    return _kept("R15", seed, lambda directory: model_faults.play(model_faults.Load(), directory))


def _kept(scenario: str, seed: int, play: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Play in a directory that stays when the scenario fails."""
    with tempfile.TemporaryDirectory(prefix="chaos") as name:
        directory = Path(name)
        row = play(directory)
        if not row["pass"]:
            kept = BUILD / f"chaos-{scenario}-{seed}"
            shutil.copytree(directory, kept, dirs_exist_ok=True)
            row["kept"] = str(kept.relative_to(BUILD.parent))
        return row


SCENARIOS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "R1": _worker_kill,
    "R15": _model_faults,
}
