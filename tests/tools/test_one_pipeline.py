"""There is one way to execute a tool: nothing but the pipeline calls a spec's function."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path
    for app in ("agents", "heartbit_site", "memory", "scheduling", "tools")
    for path in (ROOT / app).rglob("*.py")
)


def reads(path: Path) -> list[int]:
    """The lines that take ``.function`` of anything, but for asking what it is."""
    tree = ast.parse(path.read_text())
    asked = {
        argument
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute | ast.Name)
        if ast.unparse(call.func) in ("getattr", "inspect.iscoroutinefunction")
        for argument in call.args
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "function" and node not in asked
    ]


def test_only_the_pipeline_takes_a_tools_function() -> None:
    places = {str(path.relative_to(ROOT)): len(reads(path)) for path in SOURCES}
    # One call on the loop, one in a thread; whoever else has a call hands it to the pipeline.
    assert {place: count for place, count in places.items() if count} == {
        "tools/calls/pipeline.py": 2
    }
