"""R21: all of it, one after the other, as one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.chaos.exhaustion import few_files, flood, full_disk

if TYPE_CHECKING:
    from pathlib import Path

PARTS = {"flood": flood.play, "disk": full_disk.play, "files": few_files.play}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Flood, fill the disk, take files away."""
    rows = {}
    for name, part in PARTS.items():
        place = directory / name
        place.mkdir()
        rows[name] = part(size, seed=seed, directory=place)
    return merged(rows, seed=seed)


def merged(rows: dict[str, dict[str, Any]], *, seed: int) -> dict[str, Any]:
    """The parts' rows as one, which passes if all of them do."""
    return {
        "scenario": "R21",
        "runs": sum(row["runs"] for row in rows.values()),
        "figure": _named(rows, "figure"),
        "target": _named(rows, "target"),
        "pass": all(row["pass"] for row in rows.values()),
        "seed": seed,
        "also": {
            **_named({name: {"also": _numbers(row)} for name, row in rows.items()}, "also"),
            "faults": _said(rows, "faults"),
            "invalid": _said(rows, "invalid"),
        },
    }


def _named(rows: dict[str, dict[str, Any]], what: str) -> dict[str, Any]:
    return {f"{part}_{name}": each for part in rows for name, each in rows[part][what].items()}


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row["also"].items() if isinstance(value, int | float)}


def _said(rows: dict[str, dict[str, Any]], what: str) -> list[str]:
    return [f"{part}: {said}" for part, row in rows.items() for said in row["also"][what]]
