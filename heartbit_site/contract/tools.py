"""Tools that agents can be given."""

from __future__ import annotations

from typing import Any

from pydantic import Field, JsonValue

from heartbit_site.base.view import Seconds, View
from heartbit_site.contract.model import Body, Name, Page
from heartbit_site.contract.operation import READ_AGENTS, WRITE_RUNS, Noun
from heartbit_site.contract.runs import RunDetailOut


class CredentialNeedOut(View):
    """A credential that a tool requires."""

    parameter: str = Field(description="Name of the parameter, as in a binding's `credentials`.")
    kinds: list[str] = Field(description="Kinds of credentials that fit.")
    optional: bool = Field(description="True if the tool also works without it.")


class ToolOut(View):
    """A tool that agents can be given."""

    name: str
    description: str
    effect: str
    parameters: dict[str, Any] = Field(description="JSON Schema of its arguments.")
    answered_by_person: bool = Field(description="True if a person answers each call.")
    hash: str = Field(description="SHA-256 of the definition, which versions of agents pin.")
    source: str = Field(description="Module, package with version, or MCP server.")
    tags: list[str]
    summary: str = Field(
        description="Sentence about a call, with parameters in braces; empty: none is declared."
    )
    credentials: list[CredentialNeedOut]
    labels: list[str] = Field(
        description="Flow of its data: `untrusted`, `private`, `outbound`, or none of them."
    )
    timeout_seconds: Seconds | None = Field(description="Null if the server lacks the tool's code.")


class ToolDetailOut(ToolOut):
    """A tool, and its use in the workspace."""

    origin: str = Field(description="Source of its registration: code, package, program or mcp.")
    disabled: str = Field(description="Name of who disabled it, with the reason; empty: enabled.")
    agents: list[str] = Field(description="Agents with the tool.")
    calls: int = Field(description="Number of ended calls in the newest 1,000 runs.")
    failed: int = Field(
        description="Number of these calls with an error, a timeout or invalid arguments."
    )


class ToolTrialIn(Body):
    """A call of a tool, made by a person."""

    agent: Name = Field(description="An agent with the tool, whose bindings and limits apply.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    require_approval: bool = Field(
        default=False,
        description="True: the call waits for an approval, whatever the agent's setting.",
    )


class ToolsOut(Page):
    """The installation's tools."""

    tools: list[ToolOut]


NOUN = Noun("tools", read=READ_AGENTS, write=WRITE_RUNS)

LIST_TOOLS = NOUN.get("list_tools", "/tools", ToolsOut, command="`heartbit tools`")
SHOW_TOOL = NOUN.get("show_tool", "/tools/{tool}", ToolDetailOut)
TRY_TOOL = NOUN.post("try_tool", "/tools/{tool}/try", RunDetailOut, body=ToolTrialIn, status=201)
