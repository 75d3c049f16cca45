"""Short ways to make a model of the bridge, whose extra may be missing."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from agents.llm import factory
from agents.llm.adapters.endpoint import DEFAULT_TIMEOUTS, Timeouts
from heartbit_site.base.installation import extra_command

if TYPE_CHECKING:
    import httpx

    from agents.llm.profiles import Profile
    from agents.llm.protocol import ChatModel

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("pydantic_ai") is None,
    reason=f"the extra is not installed: {extra_command('providers')}",
)


def bridged(
    client: httpx.AsyncClient,
    url: str,
    *,
    provider: str = "together",
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    profile: Profile | None = None,
) -> ChatModel:
    """Return a model reached at ``url``; by default of a provider that OpenAI's SDK serves."""
    return factory.create(
        f"{provider}:model-x",
        client=client,
        environ={},
        timeouts=timeouts,
        profile=profile,
        key="sk-secret",
        base_url=url if provider in ("mistral", "groq") else f"{url}/v1",
    )
