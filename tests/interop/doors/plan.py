"""The clients, each with what drives it; ``make interop`` has a row for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.interop.doors import (
    a2a_python,
    agui_python,
    checkers,
    conformance,
    mcp_python,
    openai_python,
)
from tests.interop.doors.programs import script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.interop.doors.heartbit import Heartbit


@dataclass(frozen=True)
class Client:
    """A client.

    Attributes:
        name: Its row's.
        package: What it is installed from, ``npm:NAME`` or ``pypi:NAME``.
        drive: Drives it; returns the number of its calls or checks, or raises.
        declines: What of it Heartbit declines, and why.
    """

    name: str
    package: str
    drive: Callable[[Heartbit], int]
    declines: Mapping[str, str] = field(default_factory=dict)


def _conformance(version: str) -> Client:
    return Client(
        f"MCP conformance (server), {version}",
        "npm:conformance-next",
        partial(conformance.drive_version, version=version),
        conformance.DECLINED[version],
    )


CLIENTS: Final = (
    Client("openai (Python)", "pypi:openai", openai_python.drive),
    Client("openai (JavaScript)", "npm:openai", partial(script, "openai.mjs")),
    Client("openresponses-types", "pypi:openresponses-types", openai_python.validate),
    Client("mcp (Python), 2026-07-28", "pypi:mcp", mcp_python.drive),
    Client("mcp (Python), 2025-11-25", "pypi:mcp", mcp_python.drive_before),
    Client("MCP inspector", "npm:@modelcontextprotocol/inspector", checkers.inspector),
    _conformance("2026-07-28"),
    _conformance("2025-11-25"),
    Client(
        "MCP conformance (server), tasks",
        "npm:conformance-next",
        conformance.drive_tasks,
        conformance.DECLINED["tasks"],
    ),
    Client("ext-tasks", "npm:@modelcontextprotocol/ext-tasks", partial(script, "ext_tasks.mjs")),
    Client("a2a-sdk", "pypi:a2a-sdk", a2a_python.drive),
    Client("a2aops", "pypi:a2aops", checkers.a2aops, checkers.A2AOPS_DECLINED),
    Client("a2a-lint", "pypi:a2a-lint", checkers.a2a_lint, checkers.A2A_LINT_DECLINED),
    Client("ag-ui client", "npm:@ag-ui/client", partial(script, "ag_ui.mjs")),
    Client("ag-ui-validate", "pypi:ag-ui-validate", checkers.ag_ui_validate),
    Client("ag-ui-protocol", "pypi:ag-ui-protocol", agui_python.drive),
)
