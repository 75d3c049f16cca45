"""Connected model of pydantic-ai: its streams, their time limits and their clean-up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import infer_provider_class

from agents.llm.adapters.endpoint import Clock, Endpoint, Timeouts
from agents.llm.bridge.answer import AnswerReader
from agents.llm.bridge.failures import bridged_error
from agents.llm.bridge.known import KNOWN, Transport
from agents.llm.bridge.request import bridged_request
from agents.llm.errors import ModelError, RequestRejectedError, StreamTruncatedError
from agents.llm.messages import ChatRequest, StreamEvent
from agents.llm.profiles import Profile

if TYPE_CHECKING:
    from agents.llm.bridge.account import Account

_MAX_EVENTS_CHARACTERS = 8 * 1024 * 1024


def open_session(
    account: Account, *, client: httpx.AsyncClient, profile: Profile, timeouts: Timeouts
) -> Session:
    """Connect an account; nothing is sent yet.

    Raises:
        RequestRejectedError: The provider's SDK rejects its settings.
    """
    model = _connect(account, client=client)
    endpoint = Endpoint(
        provider=account.provider,
        model=account.model,
        url=account.base_url or model.base_url or f"https://{account.provider}",
        key_env=account.key_source,
        secret=account.secret,
    )
    return Session(model, endpoint, profile, timeouts)


def _connect(account: Account, *, client: httpx.AsyncClient) -> Model[Any]:
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
            f"The model {account.provider}:{account.model} cannot be created: {said.rstrip('.')}."
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

    SDKs that still use ``httpx`` get the process's client. Others get a client that keeps no
    connection between requests: it needs no closing and works on any event loop, and a handshake is
    short compared to a model's answer. Like the process's client it ignores proxies from the
    environment; each request has its own timeout.
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


@asynccontextmanager
async def _limited(clock: Clock, *, begun: bool) -> AsyncGenerator[None, None]:
    end = clock.end_of_wait(begun=begun)
    scope = asyncio.timeout_at(end)
    try:
        async with scope:
            yield
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise clock.timeout(end, begun=begun) from error


@dataclass(frozen=True, slots=True)
class Session:
    """A connected model; it keeps no connection between calls."""

    model: Model[Any]
    endpoint: Endpoint
    profile: Profile
    timeouts: Timeouts

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield deltas and, last, the completion.

        Raises:
            ModelError: See ``ChatModel.stream``.
        """
        begun = False
        try:
            async with AsyncExitStack() as stack:
                await request.ready()
                clock = Clock(self.endpoint, self.timeouts, request.timeout_seconds)
                async with _limited(clock, begun=False):
                    # Leaving the stack, also on cancellation, closes the answer's connection.
                    response = await stack.enter_async_context(self._ask(request))
                begun = True
                events = aiter(response)
                reader = AnswerReader(self.endpoint)
                size = 0
                while True:
                    async with _limited(clock, begun=True):
                        event = await anext(events, None)
                    if event is None:
                        break
                    for delta in reader.feed(event):
                        size += _size(delta)
                        self._check(size)
                        yield delta
                answer: ModelResponse = response.get()
            completion = reader.finish(answer)
        except ModelError:
            raise
        except Exception as error:
            raise bridged_error(self.endpoint, error, begun=begun) from error
        yield completion

    def _ask(self, request: ChatRequest) -> Any:
        arguments = bridged_request(
            request, model=self.model, profile=self.profile, provider=self.endpoint.provider
        )
        return model_request_stream(self.model, **arguments, instrument=False)

    def _check(self, size: int) -> None:
        if size > _MAX_EVENTS_CHARACTERS:
            raise StreamTruncatedError(
                f"{self.endpoint.label} sent more than {_MAX_EVENTS_CHARACTERS} characters for one "
                "answer, which is the limit; ask for less or lower max_tokens."
            )


def _size(delta: StreamEvent) -> int:
    return len(getattr(delta, "text", "")) + len(getattr(delta, "arguments", ""))
