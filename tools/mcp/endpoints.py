"""Endpoints of servers' rows: their address or program, and the credential of their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.conf import settings

from heartbit_site.base.credentials import ApiKeyCredential, BearerCredential
from heartbit_site.base.toolspec import CredentialNeed
from tools.mcp.endpoint import McpEndpoint
from tools.mcp.errors import McpError
from tools.models import McpServer

if TYPE_CHECKING:
    from heartbit_site.base.credentials import CredentialType

#: The parameter of every tool of a server that has a credential; no JSON property is called so.
CREDENTIAL: Final = "heartbit:credential"
KINDS: Final = (BearerCredential.kind, ApiKeyCredential.kind)


def needs_of(server: McpServer) -> tuple[CredentialNeed, ...]:
    """Return the credential that the calls of a server's tools need."""
    if not server.credential:
        return ()
    return (CredentialNeed(CREDENTIAL, KINDS, name=server.credential),)


def endpoint_of(server: McpServer, credential: CredentialType | None) -> McpEndpoint:
    """Return the endpoint of a server.

    Args:
        server: The server's row.
        credential: The value of the credential that it names, if it names one.

    Raises:
        McpError: The program is not on the administrator's list, or the credential is for another
            address.
    """
    if server.transport == McpServer.Transport.STDIO:
        words = settings.HEARTBIT_MCP_COMMANDS.get(server.command)
        if words is None:
            raise McpError(
                f"The MCP server {server.name} needs the program {server.command!r}, which "
                "HEARTBIT_MCP_COMMANDS does not name on this machine."
            )
        return McpEndpoint(server.pk, server.name, words=words)
    headers = () if credential is None else (_header(server, credential),)
    return McpEndpoint(server.pk, server.name, url=server.url, headers=headers)


def _header(server: McpServer, credential: CredentialType) -> tuple[str, str]:
    if not isinstance(credential, BearerCredential | ApiKeyCredential):
        raise McpError(f"The MCP server {server.name} takes a bearer token or an API key.")
    if not credential.covers(server.url):
        raise McpError(
            f"The credential {server.credential} is for {credential.url}, which is not the address "
            f"of the MCP server {server.name}."
        )
    if isinstance(credential, BearerCredential):
        return "Authorization", f"Bearer {credential.token.get_secret_value()}"
    return credential.header, credential.key.get_secret_value()
