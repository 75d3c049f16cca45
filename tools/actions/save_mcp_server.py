"""Save an MCP server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.web_url import split_web_url
from tools.models import McpServer

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor

_NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")
_RECORDED = (
    *("name", "transport", "url", "command", "credential"),
    *("trusted", "timeout_seconds", "enabled"),
)
_ADDRESS = ("transport", "url", "command")
_MOST_SECONDS = 600


def save_mcp_server(server: McpServer, *, by: Actor) -> None:
    """Write a server's row. Nothing is connected or started; ``refresh_mcp_server`` does that.

    Raises:
        ConfigurationError: A field is missing or wrong; or the address changed while agents can
            be given its tools: what they agreed to was another server's.
        ConflictError: The workspace has another server of that name.
    """
    _check(server)
    with transaction.atomic():
        before = McpServer.objects.select_for_update().filter(pk=server.pk).first()
        with about("name"):
            if before is not None and before.name != server.name:
                raise ConfigurationError(
                    "The name of an MCP server stays, because its tools are called by it: add "
                    "another server instead."
                )
            others = McpServer.objects.filter(workspace=server.workspace_id, name=server.name)
            if others.exclude(pk=server.pk).exists():
                raise ConflictError(f"There is another MCP server called {server.name!r}.")
        old = before if before is not None else McpServer()
        if before is not None and any(getattr(old, x) != getattr(server, x) for x in _ADDRESS):
            server.needs_refresh = True
        server.save()
        changes = audit.changes(old, server, _RECORDED)
        if changes or before is None:
            action = f"mcp_server.{'add' if before is None else 'change'}"
            audit.record_on(by, action, server, details=changes)


def _check(server: McpServer) -> None:
    server.name = server.name.strip()
    server.url, server.command = server.url.strip(), server.command.strip()
    with about("name"):
        if not _NAME.fullmatch(server.name):
            raise ConfigurationError(
                "The name of an MCP server has lower-case letters, digits and underscores, at most "
                "24, and begins with a letter."
            )
    if server.transport == McpServer.Transport.STDIO:
        _check_program(server)
    else:
        _check_url(server)
    with about("timeout_seconds"):
        if not 1 <= server.timeout_seconds <= _MOST_SECONDS:
            raise ConfigurationError(f"The timeout is from 1 to {_MOST_SECONDS} seconds.")


def _check_url(server: McpServer) -> None:
    with about("url"):
        parts = split_web_url(server.url)
        if parts is None:
            raise ConfigurationError("Write the URL like https://mcp.example.com/mcp.")
        if "@" in parts.netloc or parts.fragment:
            raise ConfigurationError(
                "Leave names, passwords and what begins with # out of the URL: a credential has "
                "its own field."
            )
    server.command = ""


def _check_program(server: McpServer) -> None:
    with about("command"):
        known = settings.HEARTBIT_MCP_COMMANDS
        if server.command not in known:
            names = ", ".join(known) or "none yet"
            raise ConfigurationError(
                f"HEARTBIT_MCP_COMMANDS names no program {server.command!r}; there are: {names}."
            )
    with about("credential"):
        if server.credential:
            raise ConfigurationError("A program has no URL that a credential could be sent to.")
    server.url = ""
