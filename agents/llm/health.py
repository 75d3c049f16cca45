"""Health check of a provider account and its key; no model is called, so nothing is billed.

Usage::

    health = await check(HealthTarget("openai", key="sk-...", models=("gpt-6-sol",)), client=client)
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import httpx

from agents.llm.adapters.anthropic import anthropic_headers
from agents.llm.adapters.endpoint import Endpoint
from agents.llm.adapters.failures import body_error, status_error, unreachable
from agents.llm.adapters.openai import openai_headers
from agents.llm.credentials import is_web_address
from agents.llm.errors import ModelNotFoundError
from agents.llm.providers import PROVIDERS
from heartbit_site.base.errors import HeartbitError

SECONDS = 10.0
MAX_BYTES = 8 * 1024 * 1024  # OpenRouter's list has long descriptions of hundreds of models

# OpenRouter lists its models without a key; this path requires a valid one.
_KEY_PATH = {"openrouter": "/key"}
_QUERY = {"anthropic": "?limit=1000"}  # default pages are short
_HEADERS = {
    "accept": "application/json",
    # Plain bytes for the size limit; checks are too rare to keep the connection.
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "heartbit",
}
_BROKEN = (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError)


@dataclass(frozen=True, slots=True)
class HealthTarget:
    """Account to check.

    Attributes:
        provider: Name in ``PROVIDERS``.
        key: Key; empty for a server without keys.
        base_url: Base URL; empty for the provider's own.
        models: Names of the models to be used, without the provider.
    """

    provider: str
    key: str = field(default="", repr=False)
    base_url: str = ""
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Result of a check.

    Attributes:
        ok: True if the provider answered and accepted the key.
        message: One sentence for a person, without the key; it names missing models.
        latency_ms: Time of the whole check in milliseconds; None: nothing was sent.
    """

    ok: bool
    message: str
    latency_ms: int | None = field(default=None, compare=False)


async def check(
    subject: HealthTarget, *, client: httpx.AsyncClient, timeout_seconds: float = SECONDS
) -> Health:
    """Check one account; failures are returned, not raised.

    Args:
        subject: Account to check.
        client: Client of the process, or the guarded one for a base URL typed by a user.
        timeout_seconds: Time limit of the whole check.
    """
    problem = _problem(subject)
    if problem:
        return Health(ok=False, message=problem)
    base = PROVIDERS[subject.provider].api_url(subject.base_url)
    account = Endpoint(
        provider=subject.provider,
        model="",
        url=f"{base}/models{_QUERY.get(subject.provider, '')}",
        key_env="the account's key",
        secret=subject.key,
    )
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_seconds):
            listed = await _list(account, base, client)
        health = Health(ok=True, message=_found(listed, subject))
    except TimeoutError:
        health = Health(
            ok=False,
            message=f"{account.label} did not answer within {timeout_seconds:g} seconds; check "
            "that the host and port are right and reachable from here.",
        )
    except HeartbitError as error:
        health = Health(ok=False, message=str(error))
    except _BROKEN as error:
        health = Health(ok=False, message=unreachable(account, error))
    message = health.message.replace(subject.key, "***") if subject.key else health.message
    latency_ms = round((time.monotonic() - began) * 1000)
    return Health(ok=health.ok, message=message, latency_ms=latency_ms)


def _problem(subject: HealthTarget) -> str:
    """Return why the account cannot be checked, or an empty string."""
    provider = PROVIDERS.get(subject.provider)
    if provider is None:
        return f"No provider is named {subject.provider}; use {', '.join(PROVIDERS)}."
    if provider.key_required and not subject.key:
        return "No key is set."
    base = subject.base_url or provider.base_url
    if not base:
        return "The account has no base URL; enter one."
    if not is_web_address(base):
        return "The account's base URL is not valid; write it like https://host/v1."
    return ""


async def _list(account: Endpoint, base: str, client: httpx.AsyncClient) -> tuple[str, ...]:
    """Return the names of the models; check the key separately if the list does not need it."""
    key_path = _KEY_PATH.get(account.provider)
    if key_path:
        with suppress(ModelNotFoundError):  # a gateway in front of it may not know this path
            await _get(account, base + key_path, client)
    return _names(account, await _get(account, account.url, client))


async def _get(account: Endpoint, url: str, client: httpx.AsyncClient) -> bytes:
    wire = PROVIDERS[account.provider].wire
    key = anthropic_headers if wire == "anthropic" else openai_headers
    request = client.build_request("GET", url, headers={**_HEADERS, **key(account.secret)})
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        body = await _body(account, response)
    finally:
        await response.aclose()
    if response.status_code != httpx.codes.OK:
        raise status_error(
            account, response.status_code, headers=response.headers, body=body[:65_536]
        )
    return body


async def _body(account: Endpoint, response: httpx.Response) -> bytes:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        if response.status_code != httpx.codes.OK:
            return b""  # the status is enough
        raise HeartbitError(
            f"{account.label} compressed its answer with {encoding} although plain bytes were "
            "asked for; turn compression off in the proxy in front of it."
        )
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_BYTES:
            raise HeartbitError(
                f"{account.label} answered with more than {MAX_BYTES} bytes instead of a list of "
                "models; check the base URL."
            )
    return bytes(body)


def _names(account: Endpoint, body: bytes) -> tuple[str, ...]:
    """Return the names in a list of models.

    Raises:
        HeartbitError: The answer is not a list of models.
    """
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    listed = answer.get("data") if isinstance(answer, dict) else None
    # Ollama without a model says null.
    if listed is None and isinstance(answer, dict) and answer.get("object") == "list":
        listed = []
    if not isinstance(listed, list):
        raise body_error(account, body) or HeartbitError(
            f"{account.label} answered with something other than a list of models; check that the "
            "base URL is the API's and not a web page's."
        )
    names = (entry.get("id") for entry in listed if isinstance(entry, dict))
    return tuple(name for name in names if isinstance(name, str))


def _found(listed: tuple[str, ...], subject: HealthTarget) -> str:
    does = "takes the key" if subject.key else "answers"
    said = f"It {does} and lists {len(listed)} model{'s' if len(listed) != 1 else ''}"
    missing = [model for model in subject.models if not any(_same(model, name) for name in listed)]
    return f"{said}, but not {', '.join(missing)}." if missing else f"{said}."


def _same(model: str, listed: str) -> bool:
    """Return True if a listed name means the model, exactly or without date, tag or variant."""
    model, listed = model.lower(), listed.lower().removeprefix("models/")  # Gemini's prefix
    tagged = listed.startswith((f"{model}-", f"{model}:")) or model.startswith(f"{listed}:")
    return listed == model or tagged
