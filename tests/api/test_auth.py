"""Who is let in; the whole matrix is in ``tests/web/test_matrix.py``."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User

from agents.models import Run
from heartbit_site.api.auth import key_in
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.models import ApiKey, Membership, Role
from heartbit_site.base.scopes import SCOPES
from tests.api.server import Caller
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer


def status(web: WebServer, key: str, path: str = "/runs") -> int:
    with Caller(web, key).http as http:
        return http.get(path).status_code


def somebody(workspace: Workspace, role: str | None) -> User:
    user = User.objects.create(username=f"u-{secrets.token_hex(4)}", is_staff=True)
    if role is not None:
        Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def test_the_fleet_is_not_for_a_key_of_somebody_who_is_no_superuser(
    web: WebServer, workspace: Workspace
) -> None:
    user = somebody(workspace, Role.ADMIN)
    _, key = create_api_key(workspace, "mine", scopes=SCOPES, user=user)
    assert status(web, key, "/fleet") == 403
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    assert status(web, key, "/fleet") == 200


def test_given_a_key_of_a_member_then_it_opens_no_more_than_their_role_does(
    web: WebServer, workspace: Workspace
) -> None:
    user = somebody(workspace, Role.ADMIN)
    _, key = create_api_key(workspace, "mine", scopes=SCOPES, user=user)
    assert (status(web, key, "/members"), status(web, key, "/fleet")) == (200, 403)
    Membership.objects.filter(user=user).update(role=Role.VIEWER)
    assert (status(web, key), status(web, key, "/members")) == (200, 403)
    Membership.objects.filter(user=user).delete()
    assert status(web, key) == 403


def test_an_expired_key_opens_nothing(web: WebServer, workspace: Workspace) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    made, key = create_api_key(workspace, "old", scopes=SCOPES)
    ApiKey.objects.filter(pk=made.pk).update(expires_at=past)
    assert status(web, key) == 401


@pytest.mark.parametrize(
    ("header", "key"),
    [("Bearer hb_x", "hb_x"), ("bEARER hb_x", "hb_x"), ("Basic hb_x", None), ("Bearer  ", None)],
)
def test_which_key_a_header_holds(header: str, key: str | None) -> None:
    assert key_in(header) == key


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Basic aGI6eA==", "bearer\thb_x", "hb_x_y", "Bearer é"]
)
def test_a_malformed_header_is_refused(web: WebServer, header: str) -> None:
    headers = [(b"Authorization", header.encode("latin-1"))]
    response = httpx.get(f"{web.url}/api/v1/runs", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.headers["content-type"] == "application/problem+json"


def test_a_header_that_is_no_key_is_refused_whatever_the_session_may(
    web: WebServer, workspace: Workspace
) -> None:
    cookies = {settings.SESSION_COOKIE_NAME: session_of(member(workspace))}
    there = {"Heartbit-Workspace": workspace.slug}
    with httpx.Client(base_url=f"{web.url}/api/v1", cookies=cookies, headers=there) as http:
        assert http.get("/runs").status_code == 200
        refused = http.get("/runs", headers={"Authorization": "Basic aGI6eA=="})
        assert refused.status_code == 401


def test_a_session_names_its_workspace_in_the_header_or_in_the_address(
    web: WebServer, workspace: Workspace
) -> None:
    cookies = {settings.SESSION_COOKIE_NAME: session_of(member(workspace))}
    with httpx.Client(base_url=f"{web.url}/api/v1", cookies=cookies) as http:
        assert http.get("/runs").status_code == 403
        assert http.get("/runs", params={"workspace": workspace.slug}).status_code == 200


def test_a_session_writes_only_with_its_token(web: WebServer, workspace: Workspace) -> None:
    cookies = {settings.SESSION_COOKIE_NAME: session_of(member(workspace, Role.OPERATOR))}
    there = {"Heartbit-Workspace": workspace.slug}
    with httpx.Client(base_url=f"{web.url}/api/v1", cookies=cookies, headers=there) as http:
        refused = http.post("/runs", json={"task": "Write.", "agent": "writer"})
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    assert not Run.objects.filter(workspace=workspace).exists()
