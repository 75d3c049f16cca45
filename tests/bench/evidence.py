"""The evidence of W8: the fakes' ledgers, and the journals out of PostgreSQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import connection

from tests.bench.repeats import Evidence
from tests.chaos import records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any
    from uuid import UUID

_NAME = re.compile(r"\[\[run: ([^\]]+)\]\]")
_TASKS = "SELECT id, task FROM agents_run WHERE root_id = ANY (%s)"
_ANSWERED = """
    SELECT run_id, (payload ->> 'turn')::int, min(at) FROM agents_runevent
    WHERE run_id = ANY (%s) AND type = 'model.answered' GROUP BY 1, 2
"""
_STORED = """
    SELECT c.arguments::jsonb ->> 'op', min(e.at)
    FROM agents_toolcall c JOIN agents_runevent e ON e.run_id = c.run_id
         AND e.type = 'tool.finished' AND e.payload ->> 'call_id' = c.call_id
    WHERE c.run_id = ANY (%s) AND c.tool = 'store_item' GROUP BY 1
"""


def collect(roots: Sequence[UUID], held: Sequence[UUID], directory: Path) -> Evidence:
    """What is known of these run trees.

    Args:
        roots: The runs that were submitted.
        held: Those the killed worker worked on.
        directory: Where both ledgers are.
    """
    tasks = dict(_rows(_TASKS, roots))
    names = {run_id: _name(task) for run_id, task in tasks.items()}
    ids = list(tasks)
    known = set(names.values())
    return Evidence(
        asked=[each for each in records.read_asked(directory / "model.jsonl") if each.run in known],
        answered={(names[run], turn): at for run, turn, at in _rows(_ANSWERED, ids)},
        held=frozenset(names[run] for run in held if run in names),
        effects=[
            each
            for each in records.read_effects(directory / "effects.jsonl")
            if each.op.rpartition("/")[0] in known
        ],
        stored=_stored(ids),
    )


def _stored(ids: Sequence[UUID]) -> dict[str, datetime]:
    return dict(_rows(_STORED, ids))


def _name(task: str) -> str:
    found = _NAME.search(task)
    return found[1] if found else ""


def _rows(query: str, ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, [list(ids)])
        return list(cursor.fetchall())
