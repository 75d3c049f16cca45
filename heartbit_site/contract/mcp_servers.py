"""MCP servers, whose tools agents can be given."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Name, Page, Word, changes
from heartbit_site.contract.operation import MANAGE, READ_AGENTS, Noun
from tools.server_spec import McpServerSettings, McpServerSpec

State = Literal[
    "not read yet", "refreshing", "interrupted", "failed", "changed", "to be refreshed", "read"
]


class McpServerOut(View):
    """An MCP server."""

    id: int = Field(
        validation_alias="pk",
        description="Number of the server, which paths accept as well as its name.",
    )
    name: str
    transport: Literal["http", "stdio", "openapi"]
    protocol: Literal["mcp", "a2a"]
    url: str
    command: str
    credential: str
    sign_in: bool
    connect_url: str = Field(description="Page where people sign in; empty if they do not.")
    openapi: str
    operations: list[str]
    effects: dict[str, str]
    idempotency_header: str
    trusted: bool
    private_data: bool
    shared: bool
    timeout_seconds: int
    enabled: bool
    state: State = Field(
        description="changed: changed tools wait until a person accepts them; to be refreshed: "
        "the server announced a change of its tools, or its address changed."
    )
    progress: str = Field(
        validation_alias="refresh_progress",
        description="Progress of the active refresh; empty if there is none.",
    )
    message: str = Field(
        validation_alias="refresh_message", description="Result of the last refresh."
    )
    facts: dict[str, str] = Field(
        description="Its name, version and protocol, as reported by the server; of an API also "
        "the credentials that its document asks for."
    )
    tool_count: int
    pending_count: int = Field(description="Number of tools whose change waits for a person.")
    refreshed_at: Time | None
    created_at: Time


class McpServersOut(Page):
    """The workspace's MCP servers by name."""

    servers: list[McpServerOut]


class McpToolChangeOut(View):
    """A server's change of a tool."""

    hash: str = Field(description="Hash of the new definition, which an acceptance has to name.")
    diff: list[str] = Field(description="Lines of a unified diff: effect, description and schema.")


class McpToolOut(View):
    """A tool of a server."""

    name: str = Field(description="Its name in the workspace.")
    remote_name: str = Field(description="Its name at the server.")
    description: str = Field(validation_alias=AliasPath("definition", "description"))
    effect: str = Field(validation_alias=AliasPath("definition", "effect"))
    hash: str = Field(validation_alias="definition_id")
    change: McpToolChangeOut | None = Field(
        description="A change that a person has to accept before the tool is called again; null "
        "if there is none."
    )


class McpOperationOut(View):
    """An operation of an API's OpenAPI document."""

    operation: str = Field(description="Its name in `operations`.")
    request: str = Field(description="Its method and path.")
    summary: str
    effect: str = Field(description="Effect by its method.")


class McpServerDetailOut(McpServerOut):
    """An MCP server with its tools and their changes."""

    offered: list[McpOperationOut] = Field(
        description="Operations of an API's document, to pick from in `operations`."
    )

    tools: list[McpToolOut]
    outdated_agents: list[str] = Field(
        description="Agents to publish again: their version has a tool of the server from before "
        "an accepted change, or lacks a new tool although they are given all of them. Until then "
        "they are not offered it."
    )


class McpServerIn(McpServerSpec):
    """A server to add: a URL, or the name of a program."""


@changes(null=False)
class McpServerChangeIn(McpServerSettings):
    """Settings to change; omitted settings are unchanged. A URL replaces a program."""


class McpChangesIn(Body):
    """Changes of tools to accept."""

    changes: Annotated[dict[Name, Word], Field(min_length=1, max_length=1000)] = Field(
        description="Hashes of the new definitions, by the tools' names."
    )


NOUN = Noun("mcp_servers", read=READ_AGENTS, write=MANAGE)

LIST_MCP_SERVERS = NOUN.get(
    "list_mcp_servers", "/mcp-servers", McpServersOut, "List MCP servers", command="`heartbit mcp`"
)
CREATE_MCP_SERVER = NOUN.post(
    "create_mcp_server", "/mcp-servers", McpServerOut, "Add an MCP server", body=McpServerIn,
    status=201, errors=(409,),
)  # fmt: skip
SHOW_MCP_SERVER = NOUN.get(
    "show_mcp_server", "/mcp-servers/{server}", McpServerDetailOut, "Get an MCP server"
)
CHANGE_MCP_SERVER = NOUN.patch(
    "change_mcp_server", "/mcp-servers/{server}", McpServerOut, "Change an MCP server",
    body=McpServerChangeIn,
)  # fmt: skip
REMOVE_MCP_SERVER = NOUN.delete(
    "remove_mcp_server", "/mcp-servers/{server}", "Delete an MCP server"
)
REFRESH_MCP_SERVER = NOUN.post(
    "refresh_mcp_server", "/mcp-servers/{server}/refresh", McpServerOut, "Refresh an MCP server",
    status=202, errors=(409,),
)  # fmt: skip
ACCEPT_MCP_CHANGES = NOUN.post(
    "accept_mcp_changes", "/mcp-servers/{server}/accept", McpServerDetailOut,
    "Accept an MCP server's changes", body=McpChangesIn, errors=(409,),
)  # fmt: skip
