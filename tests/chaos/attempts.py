"""One scenario, played again if its first play says nothing about the product."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings

from tests.chaos.stalls import Stalls
from tests.installation import BUILD
from tests.pace import GaveUp, Pace

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How often a scenario is played again whose machine starved, or which proved nothing.
REPLAYS = 3


class Play(Protocol):
    """A scenario: leaves its ledgers in the directory and returns its row."""

    def __call__(self, size: str, *, seed: int, directory: Path) -> dict[str, Any]: ...


def play(name: str, scenario: Play, *, size: str, seed: int) -> dict[str, Any]:
    """Return the row of the first play that proves something, or of the last one.

    Args:
        name: Number of the scenario, "R1".
        scenario: The scenario.
        size: ``small`` or ``full``.
        seed: Seed of the first play; each replay takes the next number.
    """
    row: dict[str, Any] = {}
    excuses: list[str] = []
    for row in _rows(name, scenario, size=size, seed=seed):
        if row["pass"] or not row["excuse"] or len(excuses) == REPLAYS:
            break
        excuses.append(row["excuse"])
        sys.stderr.write(f"chaos: {name} is played again: {row['excuse']}\n")
    return row | ({"replayed": excuses} if excuses else {})


def _rows(name: str, scenario: Play, *, size: str, seed: int) -> Iterator[dict[str, Any]]:
    for number in range(REPLAYS + 1):
        yield _kept(name, scenario, size=size, seed=seed + number)


def _kept(name: str, scenario: Play, *, size: str, seed: int) -> dict[str, Any]:
    """Play in a directory that stays when the scenario fails.

    A failed row has an ``excuse`` if the machine stood still, or if the scenario's fault hit
    nothing: it proves nothing either way. A starved machine excuses only what came too late, and
    never something lost or done twice.
    """
    with tempfile.TemporaryDirectory(prefix="chaos") as temporary:
        directory = Path(temporary)
        with Pace() as pace, Stalls(settings.DATABASE_DIRECT_URL) as stalls:
            try:
                row = scenario(size, seed=seed, directory=directory)
            except AssertionError as error:
                row = _broken_off(name, seed, error)
        row = row | {"excuse": "", "longest_stall_s": round(stalls.longest, 2)}
        if not row["pass"]:
            kept = BUILD / f"chaos-{name}-{seed}"
            shutil.copytree(directory, kept, dirs_exist_ok=True)
            row["kept"] = str(kept.relative_to(BUILD.parent))
            starved = pace.excuse if _is_only_late(row) else ""
            row["excuse"] = stalls.excuse or starved or _proves_nothing(row)
        return row


def _broken_off(name: str, seed: int, error: AssertionError) -> dict[str, Any]:
    """The row of a scenario that did not come to its end."""
    also = {"faults": [str(error)], "invalid": [], "gave_up": isinstance(error, GaveUp)}
    return {
        "scenario": name,
        "runs": 0,
        "figure": {},
        "target": {},
        "pass": False,
        "seed": seed,
        "also": also,
    }


def _is_only_late(row: dict[str, Any]) -> bool:
    """Return True if nothing but times, whose names end in ``_s``, is above its target."""
    if row["also"].get("gave_up"):
        return True
    broken = [name for name, value in row["figure"].items() if value > row["target"][name]]
    return not row["also"].get("faults") and all(name.endswith("_s") for name in broken)


def _proves_nothing(row: dict[str, Any]) -> str:
    """The reason why a row without a broken promise is invalid; else empty."""
    broken = any(value > row["target"][name] for name, value in row["figure"].items())
    if broken or row["also"].get("faults"):
        return ""
    return "; ".join(row["also"].get("invalid", ()))
