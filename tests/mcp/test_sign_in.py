"""S16: hostile MCP and authorization servers, stolen answers, and answers to other people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from mcp.shared.auth import OAuthMetadata

from heartbit_site.base.credentials import OAuthAppCredential
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tests.base.loopback import Answer, Server, redirect, response, serving
from tools.credentials.oauth import OAuthError, TokenRefusedError
from tools.sign_in.discovery import _check, discover
from tools.sign_in.errors import SignInError
from tools.sign_in.flow import authorization_link, begin, finish

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tools.sign_in.plan import SignInPlan

REDIRECT = "http://127.0.0.1/oauth/callback/"
PROTECTED = "/.well-known/oauth-protected-resource/mcp"
METADATA = "/.well-known/oauth-authorization-server"
INSIDE = ("169.254.169.254", "10.0.0.1", "[::1]", "metadata.google.internal", "2130706433")


def answered(body: object, *headers: str, status: str = "200 OK") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return response(data, status=status, headers=("Content-Type: application/json", *headers))


class Hostile:
    """An MCP server with its authorization server, which are honest until they are changed."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.root = f"http://127.0.0.1:{server.port}"
        self.url = f"{self.root}/mcp"
        self.protected: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [self.root],
        }
        self.metadata: dict[str, Any] = {
            "issuer": self.root,
            "authorization_endpoint": f"{self.root}/authorize",
            "token_endpoint": f"{self.root}/token",
            "registration_endpoint": f"{self.root}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        self.challenge = "Bearer"
        self.token: Answer = answered({"access_token": "t", "token_type": "Bearer"})

    def set(self) -> None:
        self.server.answers |= {
            "/mcp": answered(b"", f"WWW-Authenticate: {self.challenge}", status="401 Unauthorized"),
            PROTECTED: answered(self.protected),
            METADATA: answered(self.metadata),
            "/register": answered({"client_id": "c", **_REDIRECTS}, status="201 Created"),
            "/token": self.token,
        }

    async def begin(self, **more: Any) -> SignInPlan:
        self.set()
        async with guarded(self.server.port) as http:
            options = {"app": None, "redirect_uri": REDIRECT, "document_url": ""} | more
            return await begin(self.url, http, **options)

    async def finish(self, plan: SignInPlan, **answer: str) -> Any:
        self.set()
        async with guarded(self.server.port) as http:
            return await finish(plan, {"state": plan.state, "code": "x", **answer}, http)

    def asked(self, path: str) -> list[httpx.Request]:
        return [each for each in self.server.requests if each.url.path == path]


_REDIRECTS = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}


def guarded(port: int) -> GuardedClient:
    """The client as it is built for sign-ins; only the servers of the test are let in."""
    return GuardedClient(allow=parse_allow(f"127.0.0.1:{port}"), follow_redirects=False)


@pytest.fixture
async def hostile() -> AsyncIterator[Hostile]:
    async with serving() as server:
        server.answers = {}
        yield Hostile(server)


async def test_honest_servers_are_asked_for_this_resource_with_pkce(hostile: Hostile) -> None:
    plan = await hostile.begin()
    query = httpx.URL(authorization_link(plan)).params
    assert (query["resource"], query["redirect_uri"]) == (hostile.url, REDIRECT)
    assert (query["code_challenge_method"], query["response_type"]) == ("S256", "code")
    assert query["code_challenge"] != plan.verifier
    tokens = await hostile.finish(plan)
    assert tokens.access_token == "t"
    [asked] = hostile.asked("/token")
    form = httpx.QueryParams(asked.content.decode())
    assert (form["code_verifier"], form["resource"]) == (plan.verifier, hostile.url)
    assert all(secret not in repr(plan) for secret in (plan.verifier, plan.state))


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "no PKCE": ({"code_challenge_methods_supported": None}, "does not offer PKCE"),
    "PKCE by plain text": ({"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE"),
    "another issuer": ({"issuer": "https://good.example"}, "describes the authorization server"),
    "an issuer below": ({"issuer": "{root}/tenant"}, "describes the authorization server"),
    "no code": ({"response_types_supported": ["token"]}, "does not issue authorization codes"),
    "a host before its host": (
        {"authorization_endpoint": "http://bank.example@127.0.0.1/authorize"},
        "but leads to 127.0.0.1",
    ),
    "a host as a password": ({"token_endpoint": "http://:bank.example@127.0.0.1/t"}, "leads"),
    "a script": (
        {"authorization_endpoint": "javascript:alert(1)"},
        "publishes no authorization server metadata",
    ),
    "a file": (
        {"token_endpoint": "file:///etc/passwd"},
        "publishes no authorization server metadata",
    ),
    "no client": ({"registration_endpoint": None}, "accepts only registered clients"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_lying_authorization_server_is_refused(hostile: Hostile, lie: str) -> None:
    change, sentence = LIES[lie]
    for name, value in change.items():
        hostile.metadata[name] = (
            value.format(root=hostile.root) if isinstance(value, str) else value
        )
        if value is None:
            del hostile.metadata[name]
    with pytest.raises(SignInError, match=sentence):
        await hostile.begin()
    assert not hostile.asked("/token")


@pytest.mark.parametrize(
    "resource",
    ["https://bank.example/mcp", "{root}/mcp/deeper", "{root}/mcpx", "http://127.0.0.1:1/mcp"],
)
async def test_a_token_of_another_resource_is_never_asked_for(
    hostile: Hostile, resource: str
) -> None:
    hostile.protected["resource"] = resource.format(root=hostile.root)
    with pytest.raises(SignInError, match="asks for tokens of another server"):
        await hostile.begin()
    assert not hostile.asked("/register")


@pytest.mark.parametrize("host", INSIDE)
@pytest.mark.parametrize("where", ["challenge", "servers", "registration", "token"])
async def test_no_address_of_a_server_leads_inside(hostile: Hostile, where: str, host: str) -> None:
    async with serving() as internal:
        port = internal.port if host in ("[::1]", "2130706433") else 80
        place = f"http://{host}:{port}/secret"
        match where:
            case "challenge":
                hostile.challenge = f'Bearer resource_metadata="{place}"'
            case "servers":
                hostile.protected["authorization_servers"] = [place]
            case "registration":
                hostile.metadata["registration_endpoint"] = place
            case "token":
                hostile.metadata["token_endpoint"] = place
        with pytest.raises((HeartbitError, httpx.HTTPError)):
            plan = await hostile.begin()
            await hostile.finish(plan)
        assert internal.connections == 0


@pytest.mark.parametrize("path", [METADATA, "/register", "/token"])
async def test_no_redirect_is_followed(hostile: Hostile, path: str) -> None:
    async with serving() as elsewhere:
        hostile.set()
        to = redirect(f"http://127.0.0.1:{elsewhere.port}/x", "307 Temporary Redirect")
        hostile.server.answers[path] = to
        allowed = f"127.0.0.1:{hostile.server.port},127.0.0.1:{elsewhere.port}"
        async with GuardedClient(allow=parse_allow(allowed), follow_redirects=False) as http:
            with pytest.raises((SignInError, OAuthError)):
                plan = await begin(
                    hostile.url, http, app=None, redirect_uri=REDIRECT, document_url=""
                )
                await finish(plan, {"state": plan.state, "code": "x"}, http)
        assert elsewhere.connections == 0


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"state": "other"}, "belongs to another sign-in"),
        ({"state": ""}, "belongs to another sign-in"),
        ({"iss": "https://evil.example"}, "comes from a different authorization server"),
        ({"error": "access_denied"}, "refused: access_denied"),
        ({"error": "x", "error_description": "<b>\u202eno"}, "refused"),
        ({"code": ""}, "without a code"),
    ],
)
async def test_a_wrong_answer_never_reaches_the_token_endpoint(
    hostile: Hostile, answer: dict[str, str], sentence: str
) -> None:
    plan = await hostile.begin()
    with pytest.raises(SignInError, match=sentence) as refused:
        await hostile.finish(plan, **answer)
    assert "\u202e" not in str(refused.value)
    assert not hostile.asked("/token")


async def test_a_server_that_names_itself_has_to(hostile: Hostile) -> None:
    hostile.metadata["authorization_response_iss_parameter_supported"] = True
    plan = await hostile.begin()
    with pytest.raises(SignInError, match="a different authorization server"):
        await hostile.finish(plan)
    assert (await hostile.finish(plan, iss=hostile.root)).access_token == "t"


async def test_an_app_is_used_at_its_own_issuer_only(hostile: Hostile) -> None:
    app = OAuthAppCredential.model_validate(
        {"issuer": "https://login.example.com", "client_id": "c", "client_secret": "canary"}
    )
    with pytest.raises(SignInError, match=r"The OAuth app is for https://login\.example\.com"):
        await hostile.begin(app=app)
    plan = await hostile.begin(app=app.model_copy(update={"issuer": hostile.root}))
    assert (plan.client_id, plan.method) == ("c", "client_secret_basic")
    assert not hostile.asked("/register")
    assert "canary" not in repr(plan)


async def test_a_document_is_the_client_where_the_server_takes_one(hostile: Hostile) -> None:
    hostile.metadata["client_id_metadata_document_supported"] = True
    document = "https://heartbit.example/oauth/client.json"
    plan = await hostile.begin(document_url=document)
    assert (plan.client_id, plan.method) == (document, "none")
    assert not hostile.asked("/register")


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (answered({"error": "invalid_grant"}, status="400 Bad Request"), TokenRefusedError),
        (answered({"error_description": "canary"}, status="500 No"), OAuthError),
        (answered({"access_token": "a\r\nX: y"}), OAuthError),
        (answered({"access_token": "a", "token_type": "mac"}), OAuthError),
        (answered({"access_token": "x" * 20_000}), OAuthError),
        (answered(b"[" * 100_000), OAuthError),
        (answered(b"<html>"), OAuthError),
    ],
)
async def test_an_answer_without_a_usable_token_is_a_sentence(
    hostile: Hostile, token: bytes, kind: type[OAuthError]
) -> None:
    hostile.token = token
    plan = await hostile.begin()
    with pytest.raises(kind) as refused:
        await hostile.finish(plan)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"null", b"{", b'{"resource": 1}', b"[" * 100_000, b"x" * 500_000]
)
async def test_unreadable_metadata_is_none(hostile: Hostile, document: bytes) -> None:
    hostile.set()
    hostile.server.answers |= {PROTECTED: answered(document), METADATA: answered(document)}
    hostile.server.answers[PROTECTED.removesuffix("/mcp")] = answered(document)
    async with guarded(hostile.server.port) as http:
        with pytest.raises(SignInError, match="publishes no authorization server metadata"):
            await discover(hostile.url, http)


async def test_a_server_that_encrypts_is_not_left_for_one_that_does_not(hostile: Hostile) -> None:
    with pytest.raises(SignInError, match="without encryption"):
        _check("https://mcp.example.com", OAuthMetadata.model_validate(hostile.metadata))
