"""One module says when a database is away; no other chooses among the drivers' errors."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
#: Kombu's of that name tells of the broker.
BROKER = {"heartbit_site/base/enqueue.py"}


def choosing(source: str) -> list[int]:
    """Return the lines that name an error of lost connections."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Name) and node.id in ("OperationalError", "InterfaceError"))
        or (isinstance(node, ast.Attribute) and node.attr in ("OperationalError", "InterfaceError"))
    ]


def test_only_the_boundary_chooses_the_errors_of_a_database_that_is_away() -> None:
    assert choosing("try: pass\nexcept psycopg.OperationalError: pass") == [2]
    found = [
        f"{path.relative_to(ROOT)}:{line}: use heartbit_site.base.database_faults.is_away"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if str(path.relative_to(ROOT)) not in BROKER
        for line in choosing(path.read_text())
    ]
    assert not found, "\n".join(found)
