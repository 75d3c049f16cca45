"""The tables for people, in Markdown, and the file for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.bench.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.bench.figures import Figure, Row

FLOORS = ("bare asyncio", "bare Celery")


def tables(rows: Sequence[Row]) -> str:
    """All rows: single runs by door, what they cost, every figure, and last what was missed."""
    single = [row for row in rows if row.workload in WORKLOADS]
    parts = []
    if single:
        parts += [_overheads(single), _costs(single)]
    parts += [_figures(rows), _also(rows), _verdict(rows)]
    return "\n".join(part for part in parts if part)


def misses(rows: Iterable[Row]) -> list[str]:
    """One sentence for each missed target."""
    return [
        f"missed: {row.workload} {row.path}: {figure.name} {_number(figure.value)}"
        f"{_unit(figure)}, target {_target(figure)}{_hint(row)}"
        for row in rows
        for figure in row.figures
        if not figure.met
    ]


def merge(path: Path, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    """Write rows into a JSON list, in place of those with the same keys."""
    known: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    fresh = {tuple(row[key] for key in keys) for row in rows}
    kept = [row for row in known if tuple(row[key] for key in keys) not in fresh]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([*kept, *rows], indent=1) + "\n")


def _overheads(rows: Sequence[Row]) -> str:
    """A line for each workload: overhead p50 of floors and doors, and the ratio to the floor."""
    doors = list(dict.fromkeys(row.path for row in rows))
    lines = [["overhead p50, ms (x: of its floor)", *FLOORS, *doors]]
    for name in dict.fromkeys(row.workload for row in rows):
        found = {row.path: row for row in rows if row.workload == name}
        floors = next(iter(found.values())).also["floors_overhead_ms"]
        cells = [_overhead(found[door]) if door in found else "-" for door in doors]
        title = f"{name}, {WORKLOADS[name].title}"
        lines.append([title, *(_number(floors[floor]) for floor in FLOORS), *cells])
    return _markdown(lines)


def _overhead(row: Row) -> str:
    mark = "" if row.passed else " **missed**"
    ratio = next((each for each in row.figures if each.name.endswith(FLOORS)), None)
    times = "" if ratio is None else f" ({_number(ratio.value)} x)"
    return f"{_number(row.also['overhead_ms'])}{times}{mark}"


def _costs(rows: Sequence[Row]) -> str:
    counted = [row for row in rows if "transactions_per_run" in row.also]
    if not counted:
        return ""
    doors = list(dict.fromkeys(row.path for row in counted))
    lines = [["a run: transactions (those that write), CPU ms", *doors]]
    for name in dict.fromkeys(row.workload for row in counted):
        found = {row.path: row.also for row in counted if row.workload == name}
        cells = [_cost(found[door]) if door in found else "-" for door in doors]
        lines.append([name, *cells])
    return _markdown(lines)


def _cost(also: dict[str, Any]) -> str:
    transactions, writing = also["transactions_per_run"], also["writing_transactions_per_run"]
    return f"{transactions:g} ({writing:g}), {also['cpu_ms_per_run']:.1f}"


def _figures(rows: Sequence[Row]) -> str:
    lines = [["what", "figure", "target", ""]]
    lines += [
        [
            f"{row.workload} {row.path}: {figure.name}",
            _number(figure.value) + _unit(figure),
            _target(figure),
            "" if figure.target is None else ("met" if figure.met else "**missed**"),
        ]
        for row in rows
        for figure in row.figures
    ]
    return _markdown(lines)


def _also(rows: Sequence[Row]) -> str:
    """What explains the rows' figures, each on a line of its own."""
    lines = []
    for row in rows:
        told = ", ".join(f"{key} {json.dumps(value)}" for key, value in row.also.items())
        lines.append(f"* {row.workload} {row.path}: {told}".replace('"', ""))
    return "\n".join(lines) + "\n"


def _verdict(rows: Sequence[Row]) -> str:
    missed = misses(rows)
    held = sum(figure.target is not None for row in rows for figure in row.figures) - len(missed)
    return "\n".join([f"{held} targets held, {len(missed)} missed", *missed]) + "\n"


def _hint(row: Row) -> str:
    return f" (profile: build/{row.also['profile']})" if "profile" in row.also else ""


def _target(figure: Figure) -> str:
    if figure.target is None:
        return "-"
    return f"{'>=' if figure.at_least else '<='} {figure.target:g}{_unit(figure)}"


def _unit(figure: Figure) -> str:
    return f" {figure.unit}" if figure.unit else ""


def _number(value: float) -> str:
    value = float(value)
    return f"{value:.0f}" if value.is_integer() else f"{value:.2f}"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    first, *others = lines
    marked = [first, ["---"] * len(first), *others]
    return "".join(f"| {' | '.join(line)} |\n" for line in marked)
