"""The clients, each with what it is driven through; ``make interop`` has a row for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.interop.doors import a2a_python, mcp_python, openai_python
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


CLIENTS: Final = (
    Client("openai (Python)", "pypi:openai", openai_python.drive),
    Client("openai (JavaScript)", "npm:openai", partial(script, "openai.mjs")),
    Client("openresponses-types", "pypi:openresponses-types", openai_python.validate),
    Client("mcp (Python), 2026-07-28", "pypi:mcp", mcp_python.drive),
    Client("mcp (Python), 2025-11-25", "pypi:mcp", mcp_python.drive_before),
    Client("ext-tasks", "npm:@modelcontextprotocol/ext-tasks", partial(script, "ext_tasks.mjs")),
    Client("a2a-sdk", "pypi:a2a-sdk", a2a_python.drive),
    Client("ag-ui client", "npm:@ag-ui/client", partial(script, "ag_ui.mjs")),
)
