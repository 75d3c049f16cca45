"""Translation of files for Heartbit's Rust original to the current sections. Pure.

Templates that agents name are filled in here too, so that the rest reads whole agents.

Usage::

    translated = translate(tables)      # .content is what the rest of the package reads
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from agents.definitions import validation_messages
from agents.definitions.server_grants import ALL
from agents.definitions.templates import KEY, with_template
from agents.definitions.validation_messages import Complaint
from heartbit_site.base.web_url import split_web_url
from heartbit_site.config.positions import Path
from tools.server_spec import MOST_CHARACTERS, McpServerSpec

#: Sections without effect, each with a sentence that explains it.
_NEITHER: Final = re.compile(r"[^a-z0-9]+")
REPLACED: Final = {
    "restate": (
        "[restate] changes nothing here: a journal in PostgreSQL and Celery workers "
        "(`heartbit serve`) make runs durable, without a Restate server; remove the section."
    ),
}
#: Keys of `[memory]` that the original had.
_OF_MEMORY: Final = ("type", "database_url")
MEMORY: Final = (
    "memory.type and memory.database_url change nothing here: memories are in Heartbit's own "
    "database, and an agent remembers with the tools remember and recall, or with "
    "memory = true; remove both."
)
#: Keys of a workflow's steps that the original had.
_OF_STEPS: Final = ("depends_on", "action")
STEPS: Final = (
    "{} of Heartbit's Rust original; write each step as a table [workflows.steps.NAME] with "
    "`agent`, `task` in place of action and inputs, and `needs` in place of depends_on "
    "(docs/howto/workflows.md)"
)


@dataclass(slots=True)
class Translation:
    """Result of translating a file.

    Attributes:
        content: The file's tables, in the current sections.
        notes: Sentences about settings that have no effect, or are written differently now.
        complaints: Problems of parts that cannot be translated.
    """

    content: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)


def translate(content: dict[str, Any]) -> Translation:
    """Leave out sections without effect, and turn addresses in agents' `mcp_servers` into servers.

    Such an agent gets all tools of these servers. A server that is already in the file keeps its
    name; another one is named after its host and port.

    Args:
        content: The file, as ``tomllib`` reads it; unchanged. Values of a wrong type stay.
    """
    found = Translation(
        {key: value for key, value in content.items() if key not in REPLACED},
        [sentence for key, sentence in REPLACED.items() if key in content],
    )
    memory = content.get("memory")
    if isinstance(memory, dict) and not memory.keys().isdisjoint(_OF_MEMORY):
        found.notes.append(MEMORY)
        rest = {key: value for key, value in memory.items() if key not in _OF_MEMORY}
        found.content["memory"] = rest
        if not rest:
            del found.content["memory"]
    if isinstance(workflows := content.get("workflows"), list):
        found.content["workflows"] = _without_original_steps(workflows, found)
    servers = content.get("mcp_servers", [])
    if not isinstance(servers, list):
        return found
    added = _Servers(servers)
    if isinstance(orchestrator := content.get("orchestrator"), dict):
        found.content["orchestrator"] = _agent(orchestrator, ("orchestrator",), added, found)
    if isinstance(agents := content.get("agents"), list):
        found.content["agents"] = [
            _agent(table, ("agents", index), added, found) if isinstance(table, dict) else table
            for index, table in enumerate(agents)
        ]
    if added.tables:
        found.content["mcp_servers"] = [*servers, *added.tables]
    return found


def _without_original_steps(workflows: list[Any], found: Translation) -> list[Any]:
    """Return the workflows without steps of the original, which are complaints.

    A step without effect holds their places, so that the rest of the file is checked too.
    """
    kept = []
    for index, table in enumerate(workflows):
        steps = table.get("steps") if isinstance(table, dict) else None
        here: Path = ("workflows", index, "steps")
        if isinstance(steps, list) and any(isinstance(step, dict) for step in steps):
            found.complaints.append((here, STEPS.format("are the steps")))
        elif place := _original_key(steps):
            found.complaints.append(((*here, *place), STEPS.format("is a key")))
        else:
            kept.append(table)
            continue
        kept.append({**table, "steps": {"none": {"set": {}}}})
    return kept


def _original_key(steps: Any) -> tuple[str, str] | None:
    """Return the first step with a key of the original, and that key."""
    for name, step in steps.items() if isinstance(steps, dict) else ():
        for key in _OF_STEPS:
            if isinstance(step, dict) and key in step:
                return str(name), key
    return None


class _Servers:
    """The file's servers by address, and those that its agents add to them."""

    def __init__(self, tables: list[Any]) -> None:
        known = [table for table in tables if isinstance(table, dict)]
        self._taken = {name for table in known if isinstance(name := table.get("name"), str)}
        self._names: dict[str, str] = {
            url: name
            for table in known
            if isinstance(url := table.get("url"), str)
            and (name := table.get("name")) in self._taken
        }
        self.tables: list[dict[str, str]] = []

    def name_of(self, url: str) -> str:
        if url not in self._names:
            name = self._names[url] = _name(url, self._taken)
            self._taken.add(name)
            self.tables.append({"name": name, "url": url})
        return self._names[url]


def _filled(table: dict[str, Any], path: Path, found: Translation) -> dict[str, Any]:
    """Return an agent's table with the settings of its template, if it names one."""
    try:
        return with_template(table)
    except ValueError as error:
        found.complaints.append(((*path, KEY), str(error)))
        return with_template({**table, KEY: None})


def _agent(
    table: dict[str, Any], path: Path, servers: _Servers, found: Translation
) -> dict[str, Any]:
    """Return an agent's table with grants in place of addresses, and its template's settings."""
    table = _filled(table, path, found)
    if "mcp_servers" not in table:
        return table
    rest = {key: value for key, value in table.items() if key != "mcp_servers"}
    urls, here = table["mcp_servers"], (*path, "mcp_servers")
    if not isinstance(urls, list):
        found.complaints.append((here, "must be an array of the URLs of MCP servers"))
        return rest
    faults = [(index, fault) for index, url in enumerate(urls) if (fault := _fault(url))]
    found.complaints += [((*here, index), fault) for index, fault in faults]
    tools = table.get("tools", [])
    if faults or not urls or not isinstance(tools, list):
        return rest
    names = list(dict.fromkeys(servers.name_of(url) for url in urls))
    given = [tool.get("name") if isinstance(tool, dict) else tool for tool in tools]
    grants = [f"{name}{ALL}" for name in names]
    found.notes.append(
        f"{table.get('name', path[0])}: mcp_servers is read as [[mcp_servers]] "
        f"{', '.join(names)} with tools = {json.dumps(grants)}; `heartbit config export` writes "
        "it so."
    )
    return {**rest, "tools": [*tools, *(grant for grant in grants if grant not in given)]}


def _fault(url: object) -> str:
    """Return the end of a sentence about an unusable address; empty if it is usable."""
    if not isinstance(url, str) or not url:
        return (
            "must be the URL of an MCP server in quotes: write a server that needs more settings "
            "as [[mcp_servers]], with the name of a credential instead of a token"
        )
    complaints = validation_messages.check(McpServerSpec, {"name": "server", "url": url}, ())
    return next((message for _, message in complaints), "")


def _name(url: str, taken: set[str]) -> str:
    """Return a name for the server at a valid address: its host and port, in words."""
    parts = split_web_url(url)
    host = parts.netloc if parts is not None else ""
    words = _NEITHER.sub("_", host.lower()).strip("_")
    words = words if words[:1].isalpha() else f"server_{words}".strip("_")
    name, number = words[:MOST_CHARACTERS].rstrip("_"), 1
    while name in taken:
        number += 1
        end = f"_{number}"
        name = f"{words[: MOST_CHARACTERS - len(end)].rstrip('_')}{end}"
    return name
