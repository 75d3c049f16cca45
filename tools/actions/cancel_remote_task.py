"""Cancel a task of a remote agent that no call waits for."""

from __future__ import annotations

from functools import partial

from django.conf import settings

from heartbit_site.base import aio
from heartbit_site.base.credentials import CredentialType, SignInCredential
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tools.actions.read_mcp_server import credential_of
from tools.mcp.endpoints import McpEndpoint, covers_of, endpoint_of, signed_in
from tools.mcp.remote_agents.client import RemoteAgent
from tools.models import RemoteAgentTask

_SECONDS = 20.0


def cancel_remote_task(task: RemoteAgentTask) -> None:
    """Ask a remote agent to cancel a task.

    Args:
        task: The task, with its server and workspace.

    Raises:
        RemoteAgentConnectionError: The agent does not answer now.
        HeartbitError: It refused, such as a task that has ended, or there is no credential.
    """
    aio.run(_cancel(task, credential_of(task.server, task.user_id)))


async def _cancel(task: RemoteAgentTask, credential: CredentialType | None) -> None:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, follow_redirects=False) as http:
        ask = partial(_ask, task, credential, http)
        if isinstance(credential, SignInCredential):
            await signed_in(task.server, credential, http, ask)
        else:
            await ask(await endpoint_of(task.server, credential, http))


async def _ask(
    task: RemoteAgentTask,
    credential: CredentialType | None,
    http: GuardedClient,
    endpoint: McpEndpoint,
) -> None:
    agent = RemoteAgent(
        endpoint, http, _SECONDS, covers_of(credential), url=task.url, tenant=task.tenant
    )
    await agent.ask("CancelTask", {"id": task.task})
