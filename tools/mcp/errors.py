"""Errors of MCP servers; each is a sentence that a model or a person reads."""

from __future__ import annotations

from heartbit_site.base.errors import HeartbitError


class McpError(HeartbitError):
    """The server cannot be used for this call."""


class McpConnectionError(McpError):
    """The server cannot be reached, ended the connection, or does not answer in time."""


class McpListingError(McpError):
    """The server's list of tools exceeds the limits of a workspace, or is not valid."""


class DifferentOfferError(McpError):
    """As far as the connection knows, the server does not offer the tool as pinned."""


class McpToolError(McpError):
    """The tool itself failed, in the server's words."""


class TokenNotAcceptedError(McpError):
    """The server did not run the call: it requires another access token.

    Attributes:
        scope: Scopes that the token lacks; empty: the token itself is refused.
    """

    def __init__(self, message: str, scope: str = "") -> None:
        super().__init__(message)
        self.scope = scope


class SessionEndedError(McpConnectionError):
    """The server did not get the call, or lost the session: a new connection may help."""


def changed_error(server: str, tool: str) -> DifferentOfferError:
    """Return the error for a tool that its server has changed."""
    return DifferentOfferError(
        f"The MCP server {server} changed the tool {tool}, so it is not called: a person must "
        "review the change and accept it under MCP servers in the admin, and publish the agent "
        "again."
    )
