"""Chat models by ``provider:model``, one of each a process, over the process's one HTTP client."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from agents.llm import factory

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from agents.llm.protocol import ChatModel

LOCAL = "local"


class Models:
    """Creates each model once. The local one is looked up every time: its server may have moved."""

    def __init__(self, client: httpx.AsyncClient, local_url: Callable[[], str]) -> None:
        self._client = client
        self._local_url = local_url
        self._cache: dict[str, ChatModel] = {}

    async def get(self, name: str) -> ChatModel:
        """The model of that name.

        Raises:
            ConfigurationError: The provider is unknown or its key is missing.
        """
        provider = name.partition(":")[0]
        if provider == LOCAL:
            url = await asyncio.to_thread(self._local_url)  # may start the server
            return factory.create(name, client=self._client, environ=os.environ, local_url=url)
        if name not in self._cache:
            self._cache[name] = factory.create(name, client=self._client, environ=os.environ)
        return self._cache[name]
