"""The tables for people and the file for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.bench.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.bench.figures import Figure, Row

_COLUMNS = (
    ("workload", "workload"),
    ("path", "path"),
    ("p50_ms", "wall p50"),
    ("p95_ms", "p95"),
    ("model_calls", "calls"),
    ("model_call_ms", "each"),
    ("overhead_ms", "overhead"),
    ("target_here_ms", "target"),
    ("floor_ms", "asyncio"),
    ("floor_overhead_ms", "overhead"),
    ("celery_floor_ms", "celery"),
    ("celery_floor_overhead_ms", "overhead"),
    ("ratio", "ratio"),
    ("target_ratio", "aim"),
    ("commit_ms", "commit"),
    ("cpu_ms_per_run", "cpu ms"),
    ("rss_mb", "rss MB"),
    ("transactions_per_run", "tx"),
    ("writing_transactions_per_run", "writing"),
    ("rows_per_run", "rows"),
)
_EXPLAINED = """\
Milliseconds, p50 where not said otherwise. overhead = wall - calls x each: the model calls on the
critical path, times what one takes over a bare socket in the same run; from the floors as well.
ratio = overhead / bare Celery's overhead in this run; aim = the same of the targets. A target is
higher than the workload's own where bare Celery took longer than on the machine it is from.
"""
_OF_A_FIGURE = ("workload", "path", "figure", "value", "target", "")


def tables(rows: Sequence[Row]) -> str:
    """All rows as aligned text: single runs in detail, every figure, and last what was missed."""
    single = [row.to_json() for row in rows if row.workload in WORKLOADS]
    parts = []
    if single:
        lines = [[title for _, title in _COLUMNS]]
        lines += [[_cell(row.get(key)) for key, _ in _COLUMNS] for row in single]
        parts.append(_aligned(lines) + _EXPLAINED)
    parts.append(_aligned([list(_OF_A_FIGURE), *_figure_lines(rows)]))
    parts += [_also(row) for row in rows if row.workload not in WORKLOADS]
    parts.append(_verdict(rows))
    return "\n".join(parts)


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


def _figure_lines(rows: Sequence[Row]) -> list[list[str]]:
    return [
        [
            row.workload,
            row.path,
            figure.name,
            _number(figure.value) + _unit(figure),
            _target(figure),
            "" if figure.target is None else ("ok" if figure.met else "MISSED"),
        ]
        for row in rows
        for figure in row.figures
    ]


def _also(row: Row) -> str:
    """What explains a row's figures, on a line of its own."""
    told = ", ".join(f"{key} {json.dumps(value)}" for key, value in row.also.items())
    return f"{row.workload} {row.path}: {told}".replace('"', "")


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


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    return "".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
