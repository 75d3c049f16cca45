"""Tools that a client runs itself: offered with a request, called, and returned with the next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from agents.actions.client_calls import open_client_calls
from agents.definitions.setting_types import Schema
from agents.models import Run, ToolCall
from agents.querysets import readable
from agents.reads.agents import find_agent
from heartbit_site.base.access import Access
from heartbit_site.doors.requests import RequestError, RequestPart

_ID: Final = re.compile(r"call_([0-9a-f]{32})_([0-9]{1,6})_([0-9]{1,6})")


class ClientTool(RequestPart):
    """A function of the client."""

    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: Schema | None = None

    def table(self) -> dict[str, Any]:
        """Return the tool as a run stores it."""
        return {
            "name": self.name,
            "description": self.description or "",
            "parameters": self.parameters or {"type": "object", "properties": {}},
        }


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call that a client is to make.

    Attributes:
        id: Id by which the client returns the result; it names the run.
        arguments: JSON text.
    """

    id: str
    name: str
    arguments: str


def check_names(access: Access, agent: str, tools: Iterable[ClientTool]) -> None:
    """Reject tools that are named as the agent's own.

    Raises:
        RequestError: There is one.
        AgentNotFoundError: There is no such agent.
    """
    version = find_agent(access.workspace, agent).current_version
    own = {tool["name"] for tool in version.snapshot.get("tools", ())} if version else set()
    for tool in tools:
        if tool.name in own:
            raise RequestError(
                f"The agent {agent} has a tool {tool.name} of its own: rename yours.", "tools"
            )


def calls_of(run: Run) -> list[ClientCall]:
    """Return the calls that a run waits for its client to make."""
    wanted = open_client_calls(run)
    rows = ToolCall.objects.filter(run=run, call_id__in=wanted)
    found = {row.call_id: row for row in rows}
    return [
        ClientCall(call_id_of(run.pk, one), found[one].tool, found[one].arguments)
        for one in wanted
        if one in found
    ]


def returned(access: Access, results: Mapping[str, str]) -> tuple[Run, dict[str, str]]:
    """Return the run that results belong to, and the results by its own call ids.

    Raises:
        RequestError: An id is none of Heartbit, or they are those of several runs.
    """
    found: dict[str, str] = {}
    runs: set[UUID] = set()
    for name, result in results.items():
        match = _ID.fullmatch(name)
        if match is None:
            raise RequestError(f"There is no call {name[:80]!r} to return a result of.")
        runs.add(UUID(match[1]))
        found[f"{match[2]}.{match[3]}"] = result
    own = Run.objects.filter(readable(access), workspace=access.workspace)
    rows = own.filter(pk__in=runs, parent__isnull=True)
    run = rows.first()
    if run is None or len(runs) > 1:
        raise RequestError("The results are not those of calls of one run.")
    return run, found


def call_id_of(run_id: UUID, call_id: str) -> str:
    """Return the id of a call for clients; it names the run."""
    return f"call_{run_id.hex}_{call_id.replace('.', '_')}"
