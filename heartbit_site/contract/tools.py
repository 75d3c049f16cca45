"""Tools that agents can be given."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from heartbit_site.base.view import Seconds, View
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_AGENTS, Operation


class CredentialNeedOut(View):
    """A credential that a tool asks for."""

    parameter: str = Field(description="Name of the need, as in a binding's `credentials`.")
    kinds: list[str] = Field(description="Kinds of credentials that fit.")
    optional: bool = Field(description="The tool also works without it.")


class ToolOut(View):
    """A tool that agents can be given."""

    name: str
    description: str
    effect: str
    parameters: dict[str, Any] = Field(description="JSON Schema of its arguments.")
    answered_by_person: bool = Field(description="Each call is answered by a person.")
    hash: str = Field(description="SHA-256 of the definition, which versions of agents pin.")
    source: str = Field(description="Module or package; empty: the server lacks the tool's code.")
    tags: list[str]
    credentials: list[CredentialNeedOut]
    labels: list[str] = Field(
        description="Flow of its data: `untrusted`, `private`, `outbound`, or none of them."
    )
    timeout_seconds: Seconds | None = Field(description="Null: the server lacks the tool's code.")


class ToolsOut(Page):
    """The installation's tools."""

    tools: list[ToolOut]


LIST_TOOLS = Operation(
    "tools.list_tools", "GET /tools", ToolsOut, "List tools", READ_AGENTS,
    command="`heartbit tools`",
)  # fmt: skip
