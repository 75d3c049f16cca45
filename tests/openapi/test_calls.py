"""Calls over the guarded client: what is sent, what is answered, and what may have happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from heartbit_site.base.credentials import (
    ApiKeyCredential,
    BasicCredential,
    BearerCredential,
    CredentialType,
    QueryKeyCredential,
)
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.toolspec import Effect, ToolSpec
from tests.openapi.server import Api, api_server, document
from tests.tools.calls import context
from tools.mcp.api_calls import call_operation
from tools.models import McpServer
from tools.openapi.document import parse_document
from tools.openapi.operations import operations_of, tool_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SECRET = SecretStr("key-71c9-canary")
MAYBE = " It may still have had its effect."


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as api:
        yield api


@pytest.fixture
async def http() -> AsyncIterator[GuardedClient]:
    async with GuardedClient(allow=parse_allow("127.0.0.1:*"), deadline_seconds=2) as client:
        yield client


async def called(
    http: GuardedClient,
    url: str,
    operation: str = "getCharge",
    credential: CredentialType | None = None,
    effect: Effect | None = None,
    **settings: Any,
) -> str:
    """Call an operation of the payments, on the charge ``c``."""
    read = parse_document(document("payments.yaml"))
    found = operations_of(read)[operation]
    made = tool_of(found, read, "")
    tool = ToolSpec(
        "x", "x", made.parameters, called, effect=effect or found.effect, request=made.request
    )
    server = McpServer(name="pay", url=url, timeout_seconds=30, **settings)
    arguments = {"charge": "c", "body": {"amount": 1, "currency": "eur"}}
    return await call_operation(server, tool, context(http), credential, arguments)


async def refused(*arguments: Any, **options: Any) -> str:
    with pytest.raises(HeartbitError) as error:
        await called(*arguments, **options)
    return str(error.value)


@pytest.mark.parametrize(
    ("credential", "header", "value"),
    [
        (BearerCredential(url="http://x", token=SECRET), "authorization", "Bearer key-71c9-canary"),
        (ApiKeyCredential(url="http://x", header="X-Key", key=SECRET), "x-key", "key-71c9-canary"),
        (BasicCredential(url="http://x", username="a", password=SECRET), "authorization",
         "Basic YTprZXktNzFjOS1jYW5hcnk="),
    ],
)  # fmt: skip
async def test_the_credential_is_sent_below_its_url_alone(
    api: Api, http: GuardedClient, credential: CredentialType, header: str, value: str
) -> None:
    own = credential.model_copy(update={"url": f"{api.url}/v1"})
    api.answers["/v1/charges/c"] = (200, {"content-type": "text/plain"}, f"you sent {value}")
    text = await called(http, api.url, credential=own)
    assert api.received[0].headers[header] == value
    assert "key-71c9-canary" not in text
    other = credential.model_copy(update={"url": f"{api.url}/v2"})
    assert "is only sent to URLs below" in await refused(http, api.url, credential=other)
    assert len(api.received) == 1


async def test_a_key_in_the_url_is_sent_below_its_url_alone(api: Api, http: GuardedClient) -> None:
    key = QueryKeyCredential(url=f"{api.url}/v1", parameter="k", key=SecretStr("a&b=c/canary"))
    await called(http, api.url, credential=key)
    assert api.received[0].target == "/v1/charges/c?k=a%26b%3Dc%2Fcanary"
    other = key.model_copy(update={"url": "https://else.example"})
    assert "is only sent to URLs below" in await refused(http, api.url, credential=other)


async def test_redirects_are_shown_and_not_followed(api: Api, http: GuardedClient) -> None:
    api.answers["/v1/charges/c"] = (307, {"location": "http://127.0.0.1:1/steal"}, "")
    key = BearerCredential(url=api.url, token=SECRET)
    said = await refused(http, api.url, credential=key)
    assert said.startswith("The API pay answered:\nHTTP 307 Temporary Redirect\nLocation: http://")


@pytest.mark.parametrize(
    ("status", "operation", "maybe"),
    [(422, "CreateCharge", ""), (503, "CreateCharge", MAYBE), (503, "getCharge", "")],
)
async def test_errors_are_read_by_the_model_with_what_may_have_happened(
    api: Api, http: GuardedClient, status: int, operation: str, maybe: str
) -> None:
    text = "a" * 10_000
    for path in ("/v1/charges", "/v1/charges/c"):
        api.answers[path] = (status, {"content-type": "text/plain"}, text)
    said = await refused(http, api.url, operation)
    assert said.startswith(f"The API pay answered:\nHTTP {status} ")
    assert said.endswith(f"a{maybe}")
    assert len(said) < 4_200


async def test_no_answer_may_have_had_an_effect(api: Api, http: GuardedClient) -> None:
    api.answers["/v1/charges"] = (0, {}, "")
    api.answers["/v1/charges/c"] = (0, {}, "")
    said = await refused(http, api.url, "CreateCharge")
    assert said == (
        f"The API pay gave no answer: The request took longer than its total time limit.{MAYBE}"
    )
    assert MAYBE not in await refused(http, api.url)
    closed = await refused(http, "http://127.0.0.1:9", "CreateCharge")
    assert closed.startswith("The API pay cannot be reached: ")
    assert MAYBE not in closed


async def test_addresses_that_are_closed_to_tools_are_closed_to_apis(http: GuardedClient) -> None:
    for url in ("http://169.254.169.254", "http://10.0.0.1/v1", "http://[::1]", "http://0"):
        assert "not" in await refused(http, url, "CreateCharge")


async def test_an_answer_beyond_the_limit_is_no_answer(api: Api) -> None:
    api.answers["/v1/charges/c"] = (200, {"content-type": "text/plain"}, "a" * 5_000)
    allow = parse_allow("127.0.0.1:*")
    async with GuardedClient(allow=allow, max_response_bytes=1_000) as http:
        assert "larger than 1000 bytes" in await refused(http, api.url)


async def test_the_idempotency_key_goes_with_effects_in_the_header_that_is_named(
    api: Api, http: GuardedClient
) -> None:
    key = context().idempotency_key
    await called(http, api.url, "CreateCharge")
    await called(http, api.url, "CreateCharge", idempotency_header="X-Request-Id")
    await called(http, api.url, idempotency_header="X-Request-Id")
    await called(http, api.url, effect=Effect.IDEMPOTENT)
    sent = [(one.headers.get("idempotency-key"), one.headers.get("x-request-id"))
            for one in api.received]  # fmt: skip
    assert sent == [(key, None), (None, key), (None, None), (None, None)]
