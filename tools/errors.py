"""Errors of tools and of what they need."""

from __future__ import annotations

from heartbit_site.base.errors import NotFoundError


class CredentialNotFoundError(NotFoundError):
    """The workspace has no such credential, or it is another person's."""


class McpServerNotFoundError(NotFoundError):
    """The workspace has no such MCP server."""
