"""Read the tools of an MCP server, without writing anything."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from django.conf import settings

from heartbit_site.base import aio
from heartbit_site.base.credentials import CredentialType, SignInCredential
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.toolspec import ToolSpec
from tools.credentials.choice import choose
from tools.mcp.endpoints import (
    CREDENTIAL,
    McpEndpoint,
    covers_of,
    endpoint_of,
    needs_of,
    signed_in,
)
from tools.mcp.pool import READ_SECONDS, McpPool
from tools.mcp.remote_agents.client import RemoteAgent, load_card
from tools.models import McpServer

if TYPE_CHECKING:
    from tools.mcp.listing import Offer

BEAT_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Reading:
    """Tools of a server, or the reason why it cannot be used.

    Attributes:
        offer: Its tools; None: it cannot be used.
        facts: The server's description of itself.
        fault: A sentence, or several, if it cannot be used.
    """

    offer: Offer | None = None
    facts: dict[str, str] = field(default_factory=dict)
    fault: str = ""


def read_mcp_server(
    server: McpServer,
    *,
    user_id: int | None = None,
    beat: Callable[[str], None] = lambda _progress: None,
) -> Reading:
    """Connect to a server, stored or not, and read its tools.

    Args:
        server: The server, with its workspace.
        user_id: The caller, whose own credential or sign-in is used first.
        beat: Called about twice a second, in this thread, with the progress as a sentence.
    """
    progress = ["Connecting."]
    try:
        reading = _read(server, credential_of(server, user_id), progress.append)
        future = aio.start(reading, job := aio.Job())
        try:
            while not futures.wait([future], BEAT_SECONDS).done:
                beat(progress[-1])
            offer, facts = future.result()
        except BaseException as error:
            job.cancel(error)  # nothing to cancel, if it is the reading's own error
            raise
    except HeartbitError as error:
        return Reading(fault=str(error))
    return Reading(offer, facts)


def credential_of(server: McpServer, user_id: int | None) -> CredentialType | None:
    """Return the value of the credential that a server's requests carry for a person."""
    spec = _asking(server)
    chosen = choose(spec, workspace_id=server.workspace_id, user_id=user_id, names={})
    return chosen[CREDENTIAL].value if CREDENTIAL in chosen else None


def _asking(server: McpServer) -> ToolSpec:
    """Return a stand-in tool that needs the server's credential."""
    name = f"The MCP server {server.name}"
    return ToolSpec(name, "", {}, function=_asking, credentials=needs_of(server))


async def _read(
    server: McpServer, credential: CredentialType | None, say: Callable[[str], None]
) -> tuple[Offer, dict[str, str]]:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    pool = McpPool(allow=allow)
    try:
        read = partial(pool.read, say=say)
        if server.protocol == McpServer.Protocol.A2A:
            read = partial(_read_card, pool, credential)
        async with GuardedClient(allow=allow) as http:
            if isinstance(credential, SignInCredential):
                return await signed_in(server, credential, http, read)
            endpoint = await endpoint_of(server, credential, http)
        return await read(endpoint)
    finally:
        await pool.aclose()


async def _read_card(
    pool: McpPool, credential: CredentialType | None, endpoint: McpEndpoint
) -> tuple[Offer, dict[str, str]]:
    agent = RemoteAgent(endpoint, pool.http, READ_SECONDS, covers=covers_of(credential))
    _, offer, facts = await load_card(agent)
    return offer, facts
