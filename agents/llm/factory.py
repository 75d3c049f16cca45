"""Factory of a ``ChatModel`` from a name such as ``openai:gpt-6-sol``.

Usage::

    client = create_client()
    model = create(defaults.default_model(os.environ), client=client, environ=os.environ)

The environment is a parameter, so that a workspace's keys and a test's fake keys are handled alike.
A provider that is not in ``agents.llm.providers`` is looked up in ``agents.llm.bridge.known``,
which needs the extra ``providers``.
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from agents.llm.adapters.anthropic import AnthropicModel, anthropic_headers
from agents.llm.adapters.constrained_json import ConstrainedJsonModel
from agents.llm.adapters.endpoint import DEFAULT_TIMEOUTS, Endpoint, Timeouts
from agents.llm.adapters.exchange import Exchange
from agents.llm.adapters.openai import OpenAIModel, openai_headers
from agents.llm.bridge.account import account_for
from agents.llm.bridge.known import KNOWN
from agents.llm.bridge.model import BridgedModel
from agents.llm.credentials import environ_url, find_key, is_web_address, no_web_address
from agents.llm.defaults import provider_named
from agents.llm.profiles import COMPATIBLE, Profile
from agents.llm.protocol import ChatModel
from agents.llm.providers import Provider
from heartbit_site.base.errors import ConfigurationError

_PATH = {"openai": "/chat/completions", "anthropic": "/messages"}


def create(
    reference: str,
    *,
    client: httpx.AsyncClient,
    environ: Mapping[str, str],
    local_url: str | None = None,
    profile: Profile | None = None,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    key: str | None = None,
    base_url: str | None = None,
) -> ChatModel:
    """Return the model that ``reference``, a ``provider:model``, names.

    Args:
        reference: Provider and, after the first colon, its name of the model.
        client: Client of the process, see ``agents.llm.client``.
        environ: Environment with keys (``OPENAI_API_KEY``) and base URLs (``OPENAI_BASE_URL``).
        local_url: URL of the local model's server.
        profile: Capabilities that the provider's table lacks, such as
            ``Profile(tools="constrained_json")`` for a small model on Ollama.
        timeouts: Longest silence of the server.
        key: Key of a workspace's provider account; overrides the environment's.
        base_url: Base URL of that account; overrides the environment's.

    Raises:
        ConfigurationError: The reference, the key or the base URL cannot be used, or the provider
            needs an extra that is not installed.
    """
    name, _, model = reference.strip().partition(":")
    model = model.strip()
    if name in KNOWN:
        _check_named(reference, model, example=f"{name}:MODEL")
        url = base_url or environ_url(name, environ)
        account = account_for(name, model, environ=environ, key=key, base_url=url)
        return BridgedModel(
            account=account, client=client, profile=profile or COMPATIBLE, timeouts=timeouts
        )
    provider = provider_named(name, source="the model's name")
    _check_named(reference, model, example=f"{name}:{provider.default_model or 'MODEL'}")
    key_source, secret = find_key(
        name,
        (provider.key_env,) if provider.key_env else (),
        environ=environ,
        given=key,
        required=provider.key_required,
    )
    given = base_url or (local_url if name == "local" else "")
    url = _url(name, provider, base_url=given or environ_url(name, environ))
    endpoint = Endpoint(
        provider=name,
        model=model,
        url=url,
        key_env=key_source,
        secret=secret,
        # These two may be llama.cpp; without TLS a new connection is cheap.
        reuse=name not in ("local", "compatible") or url.startswith("https:"),
    )
    profile = profile or provider.profile(endpoint.model)
    headers = anthropic_headers(secret) if provider.wire == "anthropic" else openai_headers(secret)
    exchange = Exchange(client=client, endpoint=endpoint, headers=headers, timeouts=timeouts)
    return _adapter(exchange, provider, profile=profile)


def _adapter(exchange: Exchange, provider: Provider, *, profile: Profile) -> ChatModel:
    if provider.wire == "anthropic":
        return AnthropicModel(exchange, profile)
    model = OpenAIModel(exchange, profile)
    if profile.tools == "constrained_json":
        return ConstrainedJsonModel(model, profile.constrained)
    return model


def _check_named(reference: str, model: str, *, example: str) -> None:
    if not model:
        raise ConfigurationError(
            f'The model name "{reference}" names no model; write provider:model, such as {example}.'
        )


def _url(name: str, provider: Provider, *, base_url: str) -> str:
    """Return the complete URL."""
    base_url = base_url or provider.base_url
    if not base_url:
        mend = (
            "start the local model's server or set LOCAL_BASE_URL"
            if name == "local"
            else f"set {name.upper()}_BASE_URL or enter it in the provider account"
        )
        raise ConfigurationError(f"The provider {name} has no base URL; {mend}.")
    if not is_web_address(base_url):
        raise no_web_address(name, base_url)
    return provider.api_url(base_url) + _PATH[provider.wire]
