"""The health check against real servers: one clear sentence for everything that can be wrong."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.llm import factory, health
from agents.llm.health import Health, HealthTarget, check
from agents.llm.providers import PROVIDERS
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.accounts.provider_server import Reply, models, provider_server, refusal

if TYPE_CHECKING:
    import httpx

KEY = "sk-canary-0123456789abcdef"


async def ask(
    client: httpx.AsyncClient,
    replies: dict[str, Reply] | Reply,
    provider: str = "openai",
    **more: Any,
) -> tuple[Health, list[tuple[str, dict[str, str]]]]:
    """Check an account whose provider answers so; also what the provider saw."""
    wait = more.pop("timeout_seconds", health.SECONDS)
    with provider_server(replies) as server:
        subject = HealthTarget(provider, key=KEY, base_url=server.url, **more)
        found = await check(subject, client=client, timeout_seconds=wait)
        assert "canary" not in found.message
        return found, server.requests


async def test_a_good_account_is_healthy_and_was_sent_its_key(client: httpx.AsyncClient) -> None:
    found, requests = await ask(client, models("gpt-6-sol", "gpt-6-luna"), models=("gpt-6-sol",))
    assert found == Health(ok=True, message="It takes the key and lists 2 models.")
    ((path, headers),) = requests
    assert path == "/v1/models"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["accept-encoding"] == "identity"


async def test_anthropic_is_asked_in_its_own_dialect(client: httpx.AsyncClient) -> None:
    found, requests = await ask(client, models("claude-sonnet-5-5-20260801"), "anthropic")
    assert found == Health(ok=True, message="It takes the key and lists 1 model.")
    ((path, headers),) = requests
    assert path == "/v1/models?limit=1000"
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


async def test_a_model_that_is_not_listed_is_named(client: httpx.AsyncClient) -> None:
    found, _ = await ask(client, models("gpt-6-sol"), models=("gpt-6-sol", "gpt-9"))
    assert found == Health(ok=True, message="It takes the key and lists 1 model, but not gpt-9.")


@pytest.mark.parametrize(
    ("provider", "listed", "used"),
    [
        ("anthropic", "claude-sonnet-5-5-20260801", "claude-sonnet-5-5"),
        ("ollama", "llama3:latest", "llama3"),
        ("ollama", "qwen3:4b", "qwen3:4b"),
        ("gemini", "models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("compatible", "Org/Model", "org/model"),
    ],
)
async def test_a_model_is_known_by_its_short_name(
    client: httpx.AsyncClient, provider: str, listed: str, used: str
) -> None:
    found, _ = await ask(client, models(listed), provider, models=(used,))
    assert found.message == "It takes the key and lists 1 model."


async def test_openrouters_public_list_does_not_prove_the_key(client: httpx.AsyncClient) -> None:
    listed = models("x/y")
    replies = {"/v1/models": listed, "/v1/key": refusal(401, f"User not found: {KEY}")}
    found, _ = await ask(client, replies, "openrouter")
    assert not found.ok
    assert "refused the key with HTTP 401 (User not found: ***)" in found.message
    replies["/v1/key"] = Reply(body=b'{"data": {"label": "x"}}')
    found, requests = await ask(client, replies, "openrouter", models=("x/y:nitro",))
    assert found == Health(ok=True, message="It takes the key and lists 1 model.")
    assert [path for path, _ in requests] == ["/v1/key", "/v1/models"]


async def test_a_gateway_before_openrouter_need_not_know_its_path_of_keys(
    client: httpx.AsyncClient,
) -> None:
    found, _ = await ask(client, {"/v1/models": models("x/y")}, "openrouter")
    assert found.ok


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            refusal(401, f"Incorrect API key provided: {KEY}"),
            "refused the key with HTTP 401 (Incorrect API key provided: ***); check the account's",
        ),
        (refusal(403, "no"), "refused the key with HTTP 403 (no)"),
        (refusal(402, "no credit"), "no credit left"),
        (refusal(404, "nothing here"), "answered HTTP 404 (nothing here)"),
        (refusal(429, "slow down"), "limits the rate of requests (slow down)"),
        (refusal(500, "oops"), "failed or is overloaded, HTTP 500 (oops)"),
        (Reply(302, headers={"location": "/login"}), "answered HTTP 302 instead of"),
        (
            Reply(
                body=b"<html><title>Welcome</title></html>", headers={"content-type": "text/html"}
            ),
            "something other than a list of models; check that the base URL is the API's",
        ),
        (Reply(502, b"<html><title>Bad Gateway</title>"), 'an HTML page titled "Bad Gateway"'),
        (Reply(body=b"[1, 2]"), "something other than a list of models"),
        (Reply(body=b"[" * 100_000), "something other than a list of models"),
        (Reply(body=b'{"error": {"message": "bad key", "code": 401}}'), "refused the key with"),
        (
            Reply(body=gzip.compress(b"{}"), headers={"content-encoding": "gzip"}),
            "compressed its answer with gzip",
        ),
        (
            Reply(401, gzip.compress(b"{}"), {"content-encoding": "gzip"}),
            "refused the key with HTTP",
        ),
        (Reply(body=b" " * (health.MAX_BYTES + 1)), "answered with more than"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_wrong_is_one_sentence(
    client: httpx.AsyncClient, reply: Reply, said: str
) -> None:
    found, requests = await ask(client, reply)
    assert not found.ok
    assert said in found.message
    assert found.message.startswith("openai at 127.0.0.1:")
    assert found.message.endswith(".")
    assert len(requests) == 1  # no redirect was followed, nothing was repeated


async def test_an_empty_list_is_a_list(client: httpx.AsyncClient) -> None:
    reply = Reply(body=json.dumps({"object": "list", "data": None}).encode())
    found, _ = await ask(client, reply, "ollama")
    assert found == Health(ok=True, message="It takes the key and lists 0 models.")


async def test_a_server_that_hangs_is_given_up(client: httpx.AsyncClient) -> None:
    found, requests = await ask(client, Reply(hang=True), timeout_seconds=0.2)
    assert "did not answer within 0.2 seconds" in found.message
    assert not found.ok
    assert requests


async def test_where_nobody_listens_the_sentence_says_so(client: httpx.AsyncClient) -> None:
    with provider_server(models("m")) as server:
        url = server.url
    found = await check(HealthTarget("compatible", base_url=url), client=client)
    assert not found.ok
    assert "could not be reached" in found.message


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (HealthTarget("openay", key=KEY), "No provider is named openay"),
        (HealthTarget("openai"), "No key is set"),
        (HealthTarget("compatible", key=KEY), "The account has no base URL"),
        (HealthTarget("compatible", base_url="http://[::1"), "base URL"),
        (HealthTarget("compatible", base_url="http://127.0.0.1:99999"), "base URL"),
    ],
)
async def test_what_cannot_be_asked_is_said_without_asking(
    client: httpx.AsyncClient, subject: HealthTarget, said: str
) -> None:
    found = await check(subject, client=client)
    assert not found.ok
    assert said in found.message


async def test_the_guarded_client_keeps_a_typed_address_out_of_the_private_network() -> None:
    with provider_server(models("m")) as server:
        subject = HealthTarget("compatible", key=KEY, base_url=server.url)
        async with GuardedClient() as guarded:
            refused = await check(subject, client=guarded)
        assert not refused.ok
        assert "HEARTBIT_HTTP_ALLOWLIST" in refused.message
        assert server.requests == []
        allow = parse_allow(f"127.0.0.1:{server.port}")
        async with GuardedClient(allow=allow) as guarded:
            assert (await check(subject, client=guarded)).ok


async def test_a_server_without_keys_is_not_said_to_take_one(client: httpx.AsyncClient) -> None:
    with provider_server(models("m")) as server:
        found = await check(HealthTarget("compatible", base_url=server.url), client=client)
        assert found == Health(ok=True, message="It answers and lists 1 model.")
        assert "authorization" not in server.requests[0][1]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
@pytest.mark.parametrize(
    "base",
    ["", "http://host", "http://host/", "http://host/v1", "http://host/api/", "http://h:1/v1/"],
)
def test_health_and_calls_go_to_the_same_place(
    client: httpx.AsyncClient, provider: str, base: str
) -> None:
    environ = {f"{provider.upper()}_API_KEY": "k", f"{provider.upper()}_BASE_URL": base}
    model: Any = factory.create(f"{provider}:m", client=client, environ=environ)
    called: str = model.exchange.endpoint.url
    root = called.removesuffix("/chat/completions").removesuffix("/messages")
    assert PROVIDERS[provider].api_url(base) == root


def test_a_subject_does_not_show_its_key() -> None:
    assert "canary" not in repr(HealthTarget("openai", key=KEY))
