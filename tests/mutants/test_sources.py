"""What the mutation harness changes, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

from tests.mutants import python_source, sql_source

PYTHON = b'''"""A module; 1 < 2."""
LIMIT = 3 < 4


def late(at: int, end: int = 5, *, on: bool = True) -> bool:
    """Is it <= the end?"""
    log.debug("looked")
    if on and at >= end:  # \xc3\xa9
        note(at)
        return True
    return rows.filter(a=1, b=2)
'''
SQL = b"""-- a < b, and NOT c
SELECT 'x < y' FROM t
WHERE a = 1 AND NOT b
  AND c <= 2
"""


def test_python_is_changed_inside_functions_alone() -> None:
    path = Path("m.py")
    found = list(python_source.mutants(path, PYTHON))
    lines = {mutant.line for mutant in found}
    assert lines == {8, 9, 10, 11}
    changed = {mutant.applied_to(PYTHON).decode().splitlines()[mutant.line - 1] for mutant in found}
    assert {
        "    if (on or at >= end):  # é",
        "    if (on):  # é",
        "    if on and (at > end):  # é",
        "        pass",
        "        return False",
        "    return rows.filter(a=1)",
        "    return rows.filter(b=2)",
    } <= changed
    for mutant in found:
        compile(mutant.applied_to(PYTHON), "m.py", "exec")


def test_sql_is_changed_outside_comments_and_texts() -> None:
    found = list(sql_source.mutants(Path("f.sql"), SQL))
    changed = {mutant.applied_to(SQL).decode().splitlines()[mutant.line - 1] for mutant in found}
    assert changed == {"WHERE a <> 1 AND NOT b", "WHERE a = 1 AND b", "  AND c < 2", "  "}
