"""Connection of pydantic-ai's model to an account; nothing in it retries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
from pydantic_ai.models import infer_model
from pydantic_ai.providers import infer_provider_class

from agents.llm.bridge.known import KNOWN
from agents.llm.errors import RequestRejectedError

if TYPE_CHECKING:
    import httpx
    from pydantic_ai.models import Model

    from agents.llm.bridge.account import Account
    from agents.llm.bridge.known import Transport


def connect(account: Account, *, client: httpx.AsyncClient) -> Model[Any]:
    """Return the model; nothing is sent yet.

    Raises:
        RequestRejectedError: The provider's SDK rejects its settings.
    """
    try:
        provider = _provider(account, client=client)
        return infer_model(
            f"{account.provider}:{account.model}", provider_factory=lambda _name: provider
        )
    except Exception as error:  # each SDK has its own: no region, no profile, no credentials
        said = str(error).replace(account.secret, "***") if account.secret else str(error)
        raise RequestRejectedError(
            f"The model {account.provider}:{account.model} cannot be made: {said.rstrip('.')}."
        ) from error


def _provider(account: Account, *, client: httpx.AsyncClient) -> Any:
    known = KNOWN[account.provider]
    arguments: dict[str, Any] = dict(account.settings)
    if account.secret:
        arguments["api_key"] = account.secret
    if account.base_url and known.base_url != "client":
        arguments[known.base_url] = account.base_url
    if known.transport != "own":
        arguments["http_client"] = _http_client(known.transport, client=client)
    provider: Any = infer_provider_class(account.provider)(**arguments)
    if account.base_url and known.base_url == "client":
        provider.client.base_url = account.base_url
    if account.provider == "bedrock":
        _stop_retries(provider.client)
    return provider


def _http_client(transport: Transport, *, client: httpx.AsyncClient) -> Any:
    """Return the client for an SDK.

    SDKs that still use ``httpx`` get the process's client. Others get one that keeps no connection
    between requests: it needs no closing and works on any event loop, and a handshake is short
    compared to a model's answer. Like the process's client it does not read proxies from the
    environment; each request brings its own timeout.
    """
    if transport == "shared":
        return client
    return httpx2.AsyncClient(
        verify=httpx2.create_ssl_context(),
        timeout=None,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        trust_env=False,
    )


def _stop_retries(boto_client: Any) -> None:
    """Remove AWS's retries, which no request setting turns off."""
    name = boto_client.meta.service_model.service_id.hyphenize()
    boto_client.meta.events.unregister(f"needs-retry.{name}", unique_id=f"retry-config-{name}")
