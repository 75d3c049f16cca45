"""Checks before a row is written."""

from __future__ import annotations

import os
import socket
from typing import Final
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from agents.llm import defaults, factory
from agents.llm.credentials import environ_url
from agents.llm.providers import PROVIDERS
from agents.models import Agent
from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount
from heartbit_site.cli.terminal.output import note
from heartbit_site.embedded import client

LOCAL: Final = "local"
CONNECT_SECONDS: Final = 3.0
_ANY_KEY: Final = "the account's"


def check_run(agent: Agent, model: str) -> None:
    """Refuse a run in this process that could not even ask its models.

    Raises:
        ConfigurationError: A model that it or its team would use has no key, is misnamed, or its
            server does not answer.
        EmbeddedError: The local model would be used and is not installed, or does not start.
    """
    names = models_of(agent, model)
    accounts = ProviderAccount.objects.filter(workspace=agent.workspace_id, enabled=True)
    with_account = set(accounts.values_list("provider", flat=True))
    version = agent.current_version
    falls_back = version is not None and version.snapshot.get("fallback_models")
    for name in sorted(names):
        known = _provider(name) in with_account
        unused = httpx.AsyncClient(transport=httpx.MockTransport(_refuse), trust_env=False)
        key = _ANY_KEY if known else None
        factory.create(
            name, client=unused, environ=os.environ, local_url="http://127.0.0.1", key=key
        )
        if not known and not falls_back:  # an account's address is the guard's to reach
            _check_reachable(name)
    if LOCAL in map(_provider, names):
        client.ensure(["model"], settings.ENVIRONMENT.state)
        note(
            "Using the built-in model: it is tiny, so expect odd answers. Set OPENAI_API_KEY, "
            "ANTHROPIC_API_KEY, ... or HEARTBIT_PROVIDER=ollama for real ones."
        )


def models_of(agent: Agent, override: str) -> set[str]:
    """Return the models that a run of the agent and its team would use in this process."""
    if override:
        return {override}
    version = agent.current_version
    if version is None:
        return set()
    snapshots = [version.snapshot]
    team = [member["name"] for member in version.snapshot["team"]]
    rows = Agent.objects.filter(workspace_id=agent.workspace_id, origin=agent.origin, name__in=team)
    for member in rows.select_related("current_version"):
        if member.current_version is not None:
            snapshots.append(member.current_version.snapshot)
    # A workflow asks no model itself.
    return {one["model"] or _default(agent) for one in snapshots if "model" in one}


def _default(agent: Agent) -> str:
    """Return the default of the first claim: the environment's word, else the workspace's."""
    chosen = variables.PROVIDER.read() or variables.MODEL.read()
    workspace = "" if chosen else agent.workspace.default_model
    return workspace or defaults.default_model(os.environ)


def _check_reachable(name: str) -> None:
    """Fail at once, not after the model call's retries, if no server listens."""
    provider = PROVIDERS.get(_provider(name))
    url = environ_url(_provider(name), os.environ) or (provider.base_url if provider else "")
    parts = urlsplit(url)
    if not parts.hostname:
        return  # the local model's server is started, a bridged provider knows its own address
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        variable = f"{_provider(name).upper()}_BASE_URL"
        raise ConfigurationError(
            f"{name} cannot be reached: {parts.hostname}:{port} does not answer "
            f"({error.strerror or error}); start that server, or check {variable} and the network."
        ) from error


def _refuse(request: httpx.Request) -> httpx.Response:
    return httpx.Response(503, request=request)


def _provider(name: str) -> str:
    return name.strip().partition(":")[0]
