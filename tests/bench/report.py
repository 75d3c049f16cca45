"""The table for people and the file for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_COLUMNS = (
    ("workload", "workload"),
    ("path", "path"),
    ("p50_ms", "p50"),
    ("p95_ms", "p95"),
    ("target_ms", "target"),
    ("floor_ms", "asyncio"),
    ("celery_floor_ms", "celery"),
    ("commit_ms", "commit"),
    ("ratio", "ratio"),
    ("target_ratio", "aim"),
    ("cpu_ms_per_run", "cpu ms"),
    ("rss_mb", "rss MB"),
    ("transactions_per_run", "tx"),
    ("writing_transactions_per_run", "writing"),
    ("rows_per_run", "rows"),
)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as aligned text; milliseconds where not said otherwise."""
    lines = [[title for _, title in _COLUMNS]]
    lines += [[_cell(row.get(key)) for key, _ in _COLUMNS] for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(_COLUMNS))]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    for row in rows:
        if row["p50_ms"] > row["target_ms"]:
            text.append(
                f"missed: {row['workload']} {row['path']} {row['p50_ms']:g} ms, target "
                f"{row['target_ms']:g} ms ({row['ratio']:g} of bare Celery in this run, aim "
                f"{row['target_ratio']:g}); profile: build/{row.get('profile', '-')}"
            )
    return "\n".join(text) + "\n"


def merge(path: Path, rows: Sequence[dict[str, Any]], *, keys: tuple[str, ...]) -> None:
    """Write rows into a JSON list, in place of those with the same keys."""
    known: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    fresh = {tuple(row[key] for key in keys) for row in rows}
    kept = [row for row in known if tuple(row[key] for key in keys) not in fresh]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([*kept, *rows], indent=1) + "\n")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
