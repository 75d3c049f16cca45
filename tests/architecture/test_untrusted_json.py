"""JSON of models, tools, people and other programs is parsed with limits.

``json.loads`` raises ``RecursionError`` for a text of a hundred thousand brackets, which the code
around it rarely expects. So a plain one is in a file that is listed here with the origin of its
text, or its ``try`` takes that error too.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[2]
PACKAGES = ("heartbit_site", "agents", "tools", "memory", "scheduling")
OWN_ROWS: Final = "columns of the database, which take no deeper JSON from outside than the limit"
OWN_TEXT: Final = "text that Heartbit has written itself"
LOCAL: Final = "files, sockets and variables of the installation"
#: Number of plain calls in each file, and the origin of their texts.
PLAIN: Final = {
    "agents/actions/fork_run.py": (1, OWN_TEXT),
    "agents/admin/tool.py": (1, OWN_TEXT),
    "agents/definitions/triggers.py": (1, OWN_TEXT),
    "agents/housekeeping/erase_person.py": (1, OWN_TEXT),
    "agents/journal/erased_texts.py": (1, OWN_TEXT),
    "agents/journal/memory_texts.py": (1, OWN_TEXT),
    "agents/live/ends.py": (1, OWN_ROWS),
    "agents/llm/testing/conversation.py": (1, "tasks of the fake provider, for tests"),
    "agents/llm/testing/wire_server.py": (1, "requests to the fake provider, for tests"),
    "agents/loop/workflow/programs.py": (1, OWN_TEXT),
    "agents/loop/workflow/toolbox.py": (1, OWN_TEXT),
    "agents/reads/figures.py": (1, OWN_TEXT),
    "agents/reads/fleet.py": (1, OWN_ROWS),
    "agents/reads/outcome.py": (1, OWN_ROWS),
    "agents/runs/archive.py": (1, OWN_ROWS),
    "agents/runs/history.py": (1, OWN_ROWS),
    "agents/runs/live_entries.py": (1, OWN_ROWS),
    "agents/runs/transactional.py": (1, OWN_ROWS),
    "agents/skills/shipped/scheduling/scripts/common_times.py": (1, "a program of the sandbox"),
    "agents/system_events/reader.py": (1, OWN_ROWS),
    "agents/tracing/journals.py": (1, OWN_ROWS),
    "heartbit_site/api/json_parser.py": (1, "text that was parsed with limits before"),
    "heartbit_site/base/jsonschema.py": (1, OWN_TEXT),
    "heartbit_site/base/untrusted.py": (1, "the parser with limits"),
    "heartbit_site/base/variable_formats.py": (1, LOCAL),
    "heartbit_site/doors/mcp/tools.py": (1, OWN_ROWS),
    "heartbit_site/embedded/client.py": (1, LOCAL),
    "heartbit_site/embedded/state.py": (1, LOCAL),
    "heartbit_site/embedded/supervisor.py": (1, LOCAL),
    "heartbit_site/library/outcome.py": (2, OWN_ROWS),
    "heartbit_site/remote/stream.py": (1, "the server that a person chose"),
    "heartbit_site/shell/assets.py": (1, LOCAL),
    "tools/actions/credentials.py": (1, OWN_ROWS),
    "tools/actions/summarize_tool.py": (1, OWN_ROWS),
    "tools/connectors/calendars/icalendar_process.py": (1, "our own program, behind walls"),
    "tools/connectors/calendars/icalendar_script.py": (1, "a process behind walls"),
    "tools/credentials/values.py": (1, OWN_ROWS),
    "tools/definitions/catalogue.py": (1, OWN_ROWS),
    "tools/mcp/definition_text.py": (1, OWN_ROWS),
    "tools/mcp/questions.py": (1, OWN_ROWS),
    "tools/mcp/remote_agents/calls.py": (1, OWN_ROWS),
    "tools/sandbox/packages.py": (1, "pip, which the administrator runs"),
}


def plain_calls(source: str) -> list[int]:
    """Return the lines that parse JSON outside of a ``try`` that takes ``RecursionError``."""
    found: list[int] = []
    _look(ast.parse(source), found, is_guarded=False)
    return found


def _look(node: ast.AST, found: list[int], *, is_guarded: bool) -> None:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.loads", "json.load"):
        found += [] if is_guarded else [node.lineno]
    if isinstance(node, ast.ImportFrom) and node.module == "json":
        found += [node.lineno for one in node.names if one.name in ("loads", "load")]
    takes = isinstance(node, ast.Try) and any(
        "RecursionError" in ast.unparse(one.type) for one in node.handlers if one.type is not None
    )
    guarded = node.body if takes and isinstance(node, ast.Try) else []
    for child in ast.iter_child_nodes(node):
        _look(child, found, is_guarded=is_guarded or child in guarded)


def test_json_from_outside_is_parsed_with_limits() -> None:
    assert plain_calls("try: json.loads(a)\nexcept ValueError: json.loads(b)") == [1, 2]
    assert plain_calls("try: json.loads(a)\nexcept (ValueError, RecursionError): pass") == []
    assert plain_calls("from json import loads") == [1]
    found = {
        str(path.relative_to(ROOT)): lines
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (lines := plain_calls(path.read_text()))
    }
    wrong = [
        f"{name}:{','.join(map(str, lines))}: use heartbit_site.base.untrusted.parse_untrusted_json"
        for name, lines in sorted(found.items())
        if len(lines) != PLAIN.get(name, (0, ""))[0]
    ]
    gone = [f"{name} is listed, and has none" for name in sorted({*PLAIN} - {*found})]
    assert not [*wrong, *gone], "\n".join([*wrong, *gone])
