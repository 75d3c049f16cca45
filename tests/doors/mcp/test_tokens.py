"""Access tokens of an OpenID Connect issuer at ``/mcp``: whose are valid, and what they may do."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from jwt.algorithms import RSAAlgorithm
from mcp.shared.auth import ProtectedResourceMetadata

from heartbit_site.base.models import Role, Workspace
from heartbit_site.base.query import execute
from tests.api.server import WebServer
from tests.doors.mcp.test_http import request, send, sentence
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.doors.mcp.conftest import Mcp

HERE: Final = "https://heartbit.example"
RESOURCE: Final = f"{HERE}/mcp"


class Issuer(ThreadingHTTPServer):
    """An issuer with two keys, of which it publishes one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key, self.other = (rsa.generate_private_key(65_537, 2_048) for _ in range(2))

    def token(self, name: str, *, key: Any = None, kid: str = "one", **claims: Any) -> str:
        """A token of somebody, for ten minutes."""
        whole = {
            "iss": self.url,
            "sub": "17",
            "aud": RESOURCE,
            "exp": time.time() + 600,
            "preferred_username": name,
            **claims,
        }
        given = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(given, key or self.key, "RS256", {"kid": kid})

    def page(self, path: str) -> Any:
        """What it publishes."""
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        key = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**key, "kid": "one", "alg": "RS256"}]}


class _Pages(BaseHTTPRequestHandler):
    server: Issuer

    def do_GET(self) -> None:
        body = json.dumps(self.server.page(self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def trusting(issuer: Issuer) -> Iterator[WebServer]:
    with WebServer(
        HEARTBIT_MCP_ISSUER=issuer.url,
        HEARTBIT_HTTP_ALLOWLIST=issuer.url.removeprefix("http://"),
        HEARTBIT_PUBLIC_URL=HERE,
    ) as found:
        yield found


@pytest.fixture
def door(mcp: Mcp, trusting: WebServer) -> Mcp:
    """The door of a server with an issuer, with a key as well."""
    mcp.address = f"{trusting.url}/mcp"
    return mcp


def test_whoever_has_no_token_is_told_where_they_are_issued(door: Mcp, issuer: Issuer) -> None:
    refused = send(door, request(), Authorization="")
    place = f"{HERE}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{place}"' in refused.headers["WWW-Authenticate"]
    address = door.address.replace("/mcp", place.removeprefix(HERE))
    found = ProtectedResourceMetadata.model_validate(httpx.get(address).json())
    assert str(found.resource) == RESOURCE
    assert [str(one).rstrip("/") for one in found.authorization_servers] == [issuer.url]
    assert send(door, request()).status_code == 200, "keys open it as well"


def test_a_token_opens_what_the_persons_role_does(
    door: Mcp, issuer: Issuer, workspace: Workspace
) -> None:
    worker, viewer = member(workspace, Role.OPERATOR), member(workspace, Role.VIEWER)
    door.key = issuer.token(worker.username)
    call = request("tools/call", name="writer", arguments={"task": "[[text: Done.]]"})
    found = send(door, call)
    assert "Done." in found.text, found.text
    door.key = issuer.token(worker.username, scope="openid runs:read", aud=["x", RESOURCE])
    assert "runs:write" in send(door, request()).headers["WWW-Authenticate"]
    door.key = issuer.token(viewer.username)
    assert send(door, request()).status_code == 403
    there = Workspace.objects.create(slug=f"{workspace.slug}-b", name="b")
    there.memberships.create(user=worker, role=Role.OPERATOR)
    door.key = issuer.token(worker.username)
    assert "Heartbit-Workspace" in sentence(send(door, request()))
    assert send(door, request(), Heartbit_Workspace=there.slug).status_code == 200
    assert send(door, request(), Heartbit_Workspace="of-others").status_code == 404


def test_tokens_that_are_none_here_are_refused(
    door: Mcp, issuer: Issuer, workspace: Workspace
) -> None:
    name = member(workspace, Role.OPERATOR).username
    none = jwt.encode({"iss": issuer.url, "aud": RESOURCE, "sub": name}, "", "none", {"kid": "one"})
    secret = jwt.encode({"iss": issuer.url, "aud": RESOURCE}, "x" * 64, "HS256", {"kid": "one"})
    for token in (
        issuer.token(name, aud="https://other.example/mcp"),
        issuer.token(name, aud=f"{RESOURCE}/operator"),
        issuer.token(name, aud=None),
        issuer.token(name, exp=time.time() - 600),
        issuer.token(name, exp=None),
        issuer.token(name, iss="https://other.example"),
        issuer.token(name, key=issuer.other),
        issuer.token(name, key=issuer.other, kid="two"),
        issuer.token("nobody"),
        issuer.token(name, preferred_username=["x\0"]),
        none,
        secret,
        "a.b.c",
    ):
        door.key = token
        refused = send(door, request())
        assert refused.status_code == 401, jwt.decode(token, options={"verify_signature": False})
        assert token not in refused.text


def test_no_name_opens_a_superusers_account(
    door: Mcp, issuer: Issuer, workspace: Workspace
) -> None:
    chief = member(workspace, Role.ADMIN)
    door.key = issuer.token(chief.username)
    assert send(door, request()).status_code == 200
    User.objects.filter(pk=chief.pk).update(is_superuser=True)
    refused = send(door, request())
    assert (refused.status_code, "has no account here" in refused.text) == (401, True)


def test_an_issuer_that_people_sign_in_at_names_them_by_subject(
    mcp: Mcp, issuer: Issuer, workspace: Workspace
) -> None:
    worker = member(workspace, Role.OPERATOR)
    subject = f"subject of {worker.username}"
    with WebServer(
        HEARTBIT_MCP_ISSUER=issuer.url,
        HEARTBIT_OIDC_ISSUER=issuer.url,
        HEARTBIT_OIDC_CLIENT_ID="heartbit",
        HEARTBIT_OIDC_CLIENT_SECRET="a-secret-of-the-client",
        HEARTBIT_HTTP_ALLOWLIST=issuer.url.removeprefix("http://"),
        HEARTBIT_PUBLIC_URL=HERE,
    ) as site:
        mcp.address, mcp.key = f"{site.url}/mcp", issuer.token(worker.username, sub=subject)
        refused = send(mcp, request())
        assert refused.status_code == 401, "a name that anyone may take opens nothing"
        assert "sign in to Heartbit in a browser once" in refused.text
        execute(
            "INSERT INTO socialaccount_socialaccount"
            " (provider, uid, last_login, date_joined, extra_data, user_id)"
            " VALUES (%s, %s, now(), now(), '{}', %s)",
            [issuer.url, subject, worker.pk],
        )
        assert send(mcp, request()).status_code == 200
        mcp.key = issuer.token("another name", sub=subject)
        assert send(mcp, request()).status_code == 200
        mcp.key = issuer.token(worker.username, sub="17")
        assert send(mcp, request()).status_code == 401


def test_an_issuer_that_is_away_is_said(mcp: Mcp, issuer: Issuer) -> None:
    with WebServer(HEARTBIT_MCP_ISSUER="http://127.0.0.1:1", HEARTBIT_PUBLIC_URL=HERE) as site:
        mcp.address, mcp.key = f"{site.url}/mcp", issuer.token("ada")
        for _ in range(2):  # the second one is not asked for
            refused = send(mcp, request())
            assert refused.status_code == 503
            assert "cannot be read" in sentence(refused)
