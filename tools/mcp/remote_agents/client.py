"""Requests to a remote agent: JSON-RPC of A2A 1.0 over the guarded client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import httpx

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError, clean_text, parse_untrusted_json
from tools.mcp.errors import McpConnectionError, McpError, TokenNotAcceptedError

if TYPE_CHECKING:
    from tools.mcp.endpoints import McpEndpoint
    from tools.mcp.listing import Offer

_MOST_BYTES: Final = 10_000_000  # the guarded client's limit, too
_MOST_SAID: Final = 500
_HEADERS: Final = {"A2A-Version": "1.0", "accept": "application/json"}
#: Statuses after which the same request may succeed later.
_PASSING: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class RemoteAgentError(McpError):
    """The remote agent refused the request, failed its task, or breaks the protocol."""


class RemoteAgentConnectionError(McpConnectionError):
    """The remote agent does not answer now."""


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """A remote agent, as one call reaches it.

    Attributes:
        endpoint: Name, address of its card, and headers of each request.
        http: The guarded client.
        seconds: Limit of one request.
        covers: Returns True if the credential in the headers may be sent to a URL.
        url: Address of its JSON-RPC.
        tenant: Tenant that each request names; empty: none.
    """

    endpoint: McpEndpoint
    http: httpx.AsyncClient = field(repr=False)
    seconds: float
    covers: Callable[[str], bool]
    url: str = ""
    tenant: str = ""

    async def get_card(self) -> Any:
        """Return the card, which is not checked yet.

        Raises:
            McpError: It cannot be read.
        """
        return self._content(await self._request("GET", self.endpoint.url))

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a method.

        Raises:
            RemoteAgentConnectionError: The agent does not answer now; it may have acted.
            TokenNotAcceptedError: It requires another credential.
            RemoteAgentError: It refused the request, or breaks the protocol.
        """
        tenant = {"tenant": self.tenant} if self.tenant else {}
        body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": {**tenant, **params}}
        found = self._content(await self._request("POST", self.url, json=body))
        error = found.get("error")
        if isinstance(error, dict):
            raise self.error(f"refused {method}: {_said(error.get('message'))}")
        result = found.get("result")
        if not isinstance(result, dict):
            raise self.error(f"answered {method} without a result")
        return result

    def error(self, what: str) -> RemoteAgentError:
        """Return an error about the agent."""
        return RemoteAgentError(f"The remote agent {self.endpoint.name} {what.rstrip('.')}.")

    async def _request(self, method: str, url: str, **parts: Any) -> httpx.Response:
        headers = {**_HEADERS, **dict(self.endpoint.headers)}
        if not self.covers(url):
            raise self.error(f"is at {url}, an address that its credential is not for")
        try:
            async with asyncio.timeout(self.seconds):
                response = await self.http.request(method, url, headers=headers, **parts)
        except TimeoutError:
            raise self._away(f"did not answer within {self.seconds:.3g} s") from None
        except (httpx.HTTPError, HeartbitError) as error:
            raise self._away(f"cannot be reached: {error}") from error
        status = response.status_code
        if status == HTTPStatus.UNAUTHORIZED:
            raise TokenNotAcceptedError(
                f"The remote agent {self.endpoint.name} answered with the status 401: it requires "
                "another credential."
            )
        if status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise self._away(f"answered with the status {status}")
        return response

    def _content(self, response: httpx.Response) -> dict[str, Any]:
        try:
            content = parse_untrusted_json(response.content, max_bytes=_MOST_BYTES)
        except UntrustedJSONError:
            content = None
        is_refused = response.status_code >= HTTPStatus.MULTIPLE_CHOICES
        if not isinstance(content, dict) or (is_refused and "error" not in content):
            reason = f"the status {response.status_code}" if is_refused else "something else"
            raise self.error(f"answered with {reason} instead of JSON of A2A")
        return content

    def _away(self, what: str) -> RemoteAgentConnectionError:
        text = f"The remote agent {self.endpoint.name} {what.rstrip('.')}."
        return RemoteAgentConnectionError(text)


async def load_card(agent: RemoteAgent) -> tuple[RemoteAgent, Offer, dict[str, str]]:
    """Return what ``card.read_card`` does, whose module takes long to import."""
    module = await asyncio.to_thread(import_module, "tools.mcp.remote_agents.card")
    found: tuple[RemoteAgent, Offer, dict[str, str]] = await module.read_card(agent)
    return found


def _said(message: object) -> str:
    return clean_text(str(message or "it said nothing"))[:_MOST_SAID]
