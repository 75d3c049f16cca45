"""``agents.llm`` stands alone: no Django, no Celery, and cheap until it is used."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx

LOADED = "import sys, {0}; print(*sorted(set(m.partition('.')[0] for m in sys.modules)))"


def loaded(modules: str) -> set[str]:
    command = [sys.executable, "-c", LOADED.format(modules)]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


def test_nothing_of_the_web_or_the_queue_is_imported() -> None:
    modules = loaded("agents.llm.factory, agents.llm.client, agents.llm.pricing")
    assert not modules & {"django", "celery", "channels", "redis", "psycopg", "genai_prices"}


@pytest.mark.parametrize(
    "module",
    [
        "testing.wire_server",
        "messages",
        "errors",
        "defaults",
        "providers",
        "wrappers.retry",
        "wrappers.limit",
        "wrappers.fallback",
    ],
)
def test_what_needs_no_network_client_imports_none(module: str) -> None:
    assert not loaded(f"agents.llm.{module}") & {"httpx", "aiohttp", "django"}


async def test_the_client_neither_retries_nor_redirects_nor_reads_the_environment(
    client: httpx.AsyncClient,
) -> None:
    assert not client.trust_env
    assert not client.follow_redirects
