"""Embeddings of an OpenAI-compatible provider, by an account of the workspace.

The memory app asks for this class by the setting ``HEARTBIT_ACCOUNT_EMBEDDER``: accounts and
providers are above it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from typing import Any, Final

import httpx
from django.conf import settings

from agents.llm.adapters.endpoint import Endpoint
from agents.llm.adapters.failures import status_error, unreachable
from agents.llm.adapters.openai import openai_headers
from agents.llm.adapters.shapes import as_dict, as_list
from agents.llm.errors import OverloadedError, RequestRejectedError
from agents.llm.providers import PROVIDERS
from agents.llm.text import read_object
from heartbit_site.base import aio, secrets
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import ProviderAccount
from memory.embeddings.embedder import EmbeddingError, Vector

logger = logging.getLogger(__name__)

#: A run waits for the vector of its query; without it, recall is by words.
QUERY_SECONDS: Final = 3.0
TEXTS_SECONDS: Final = 30.0
#: llama.cpp refuses a text that is too long as an error of its own.
_TOO_LONG: Final = re.compile("too (large|long)|exceed", re.IGNORECASE)
_SHORT_TEXT: Final = "tea"


class _RefusedError(EmbeddingError):
    """The server answers, and refuses these texts: they are too many, or one is too long."""


class AccountEmbedder:
    """See ``memory.embeddings.embedder.Embedder``.

    Args:
        workspace_id: The workspace, whose enabled account with the provider is used.
        model: ``provider:model``.

    Raises:
        EmbeddingError: The provider has no embeddings here, or the workspace no account with it.
    """

    def __init__(self, workspace_id: int, model: str) -> None:
        name, _, self._model = model.partition(":")
        provider = PROVIDERS.get(name)
        if provider is None or provider.wire != "openai" or name == "local" or not self._model:
            raise EmbeddingError(
                f"{model!r} is no embedding model: write local, or provider:model of an "
                "OpenAI-compatible provider, such as openai:text-embedding-3-small."
            )
        account = ProviderAccount.objects.filter(
            workspace=workspace_id, provider=name, enabled=True
        ).first()
        if account is None or not (account.base_url or provider.base_url):
            raise EmbeddingError(
                f"The workspace has no enabled account with {name} that says its base URL: "
                "add one under provider accounts."
            )
        try:
            secret = secrets.reveal(account, "secret")
        except HeartbitError as error:
            raise EmbeddingError(str(error)) from error
        url = f"{provider.api_url(account.base_url)}/embeddings"
        self._endpoint = Endpoint(name, self._model, url, "the account's key", secret)
        self._most: int | None = None  # texts of a request, as learned from refusals

    def embed_query(self, text: str) -> Vector:
        """See ``Embedder``."""
        return self._ask([text], QUERY_SECONDS)[0]

    def embed_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """See ``Embedder``; a refused request is sent again in halves, as often as it takes."""
        found: list[Vector | None] = []
        took = 0  # the most texts that the server took at once
        while len(found) < len(texts):
            some = texts[len(found) :][: self._most]
            try:
                found += self._ask(some, TEXTS_SECONDS)
                took = max(took, len(some))
            except _RefusedError as error:
                if len(some) > 1:
                    self._most = len(some) // 2
                    continue
                self._ask([_SHORT_TEXT], TEXTS_SECONDS)  # raises if no text is taken any more
                logger.warning("a text is not embedded: %s", error)
                found.append(None)
                self._most = took or None  # it was this text, and not their number
        return found

    def _ask(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        try:
            vectors = _vectors(aio.run(self._post(texts, seconds)), len(texts))
        except TimeoutError:
            raise EmbeddingError(
                f"{self._endpoint.label} did not answer within {seconds:g} seconds."
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise EmbeddingError(unreachable(self._endpoint, error)) from error
        except EmbeddingError:
            raise
        except HeartbitError as error:  # a refusal of the server, or of the guarded client
            message = str(error)
            secret = self._endpoint.secret
            message = message.replace(secret, "***") if secret else message
            is_refused = isinstance(error, RequestRejectedError) or (
                isinstance(error, OverloadedError) and _TOO_LONG.search(message)
            )
            raise (_RefusedError if is_refused else EmbeddingError)(message) from error
        if vectors is None:
            raise EmbeddingError(
                f"{self._endpoint.label} answered with something else than {len(texts)} vectors."
            )
        return vectors

    async def _post(self, texts: Sequence[str], seconds: float) -> bytes:
        allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
        body = json.dumps({"model": self._model, "input": list(texts)}).encode()
        headers = {"content-type": "application/json", **openai_headers(self._endpoint.secret)}
        async with (
            asyncio.timeout(seconds),
            GuardedClient(
                allow=allow,
                deadline_seconds=seconds,
                silence_seconds=seconds,
                follow_redirects=False,
            ) as client,
        ):
            answer = await client.post(self._endpoint.url, content=body, headers=headers)
        if answer.status_code != httpx.codes.OK:
            raise status_error(
                self._endpoint, answer.status_code, headers=answer.headers, body=answer.content
            )
        return answer.content


def _vectors(body: bytes, count: int) -> list[Vector] | None:
    """Return the vectors of an answer by their index; None if it has no such form."""
    answer: dict[str, Any] = read_object(body.decode("utf-8", "replace")) or {}
    found: dict[int, Vector] = {}
    for place, each in enumerate(as_list(answer.get("data"))):
        entry = as_dict(each)
        vector = as_list(entry.get("embedding"))
        if not vector or not all(isinstance(one, int | float) for one in vector):
            return None
        index = entry.get("index", place)
        found[index if isinstance(index, int) else place] = [float(one) for one in vector]
    return [found[place] for place in range(count)] if set(found) == set(range(count)) else None
