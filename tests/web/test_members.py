"""Members, keys and whoever asks, over the API and as verbs."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.db import connections
from django.utils import timezone

from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.actions.members import (
    LastAdminError,
    MemberNotFoundError,
    remove_member,
    save_member,
)
from heartbit_site.base.audit import BY_CHANNEL, BY_SCHEDULE, SYSTEM
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ApiKey, AuditEntry, Membership, Role, Workspace
from heartbit_site.base.scopes import SCOPES
from tests.api.server import Caller, key_for
from tests.web.people import member, person, session_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User

    from tests.api.server import WebServer


@pytest.fixture
def admin(site: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """A program of an admin of the workspace."""
    user = member(workspace, Role.ADMIN)
    found = Caller(site, create_api_key(workspace, "tool", scopes=SCOPES, user=user)[1])
    with found.http:
        yield found


def audited(workspace: Workspace) -> list[tuple[str, str, Any]]:
    rows = AuditEntry.objects.filter(chain=workspace.pk).order_by("number")
    return [(row.action, row.label, row.details) for row in rows]


def test_given_an_account_when_added_changed_and_removed_then_each_is_audited(
    admin: Caller, workspace: Workspace
) -> None:
    bob = person()
    added = admin.post("/members", {"username": bob.username})
    assert (added.status_code, added.json()["role"]) == (201, "viewer")
    assert admin.post("/members", {"username": bob.username}).json()["code"] == "already_member"
    changed = admin.http.patch(f"/members/{bob.username}", json={"role": "operator"})
    assert changed.json()["role"] == "operator"
    assert {row["username"] for row in admin.get("/members").json()["members"]} >= {bob.username}
    assert admin.http.delete(f"/members/{bob.username}").status_code == 204
    assert admin.http.delete(f"/members/{bob.username}").json()["code"] == "member_not_found"
    assert audited(workspace)[-3:] == [
        ("member.add", bob.username, {"role": "viewer"}),
        ("member.change", bob.username, {"role": "operator", "before": "viewer"}),
        ("member.remove", bob.username, {"role": "operator", "keys_revoked": 0}),
    ]


def test_given_a_name_without_an_account_then_nobody_is_added(
    admin: Caller, workspace: Workspace
) -> None:
    response = admin.post("/members", {"username": "nobody-at-all"})
    assert (response.status_code, response.json()["code"]) == (404, "user_not_found")


def test_given_the_only_admin_then_they_stay_one(workspace: Workspace) -> None:
    ada = member(workspace, Role.ADMIN)
    with pytest.raises(LastAdminError, match="make another member an admin first"):
        save_member(workspace, ada, Role.VIEWER, by=SYSTEM)
    with pytest.raises(LastAdminError):
        remove_member(workspace, ada, by=SYSTEM)
    member(workspace, Role.ADMIN)
    assert save_member(workspace, ada, Role.VIEWER, by=SYSTEM).role == Role.VIEWER


def test_given_two_admins_who_leave_at_once_then_one_stays(workspace: Workspace) -> None:
    admins = [member(workspace, Role.ADMIN) for _ in range(2)]
    ready, refused = threading.Barrier(2), []

    def leave(user: User) -> None:
        ready.wait()
        try:
            remove_member(workspace, user, by=SYSTEM)
        except LastAdminError as error:
            refused.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=leave, args=(user,)) for user in admins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert Membership.objects.filter(workspace=workspace, role=Role.ADMIN).count() == 1


def test_given_what_no_member_can_be_then_it_is_refused(workspace: Workspace) -> None:
    bob = person()
    with pytest.raises(ConfigurationError, match="There is no role 'owner': use viewer, operator"):
        save_member(workspace, bob, "owner", by=SYSTEM)
    with pytest.raises(MemberNotFoundError):
        remove_member(workspace, bob, by=SYSTEM)
    bob.is_active = False
    bob.save()
    with pytest.raises(ConfigurationError, match="is closed"):
        save_member(workspace, bob, Role.VIEWER, by=SYSTEM)
    assert not audited(workspace)


def test_given_a_member_with_keys_when_removed_then_the_keys_end(
    site: WebServer, admin: Caller, workspace: Workspace
) -> None:
    bob = member(workspace, Role.EDITOR)
    row, key = create_api_key(workspace, "bob's", scopes=["runs:read"], user=bob)
    with Caller(site, key).http as theirs:
        assert theirs.get("/runs").status_code == 200
        admin.http.delete(f"/members/{bob.username}")
        assert theirs.get("/runs").status_code == 401
    assert [action for action, _, _ in audited(workspace)][-2:] == [
        "api_key.revoke",
        "member.remove",
    ]
    row.refresh_from_db()
    assert row.revoked_at is not None


def test_given_a_new_key_then_it_is_shown_once_and_ends_in_90_days(
    site: WebServer, admin: Caller, workspace: Workspace
) -> None:
    made = admin.post("/keys", {"name": "import", "scopes": ["runs:read"]}).json()
    with Caller(site, made["key"]).http as theirs:
        assert theirs.get("/runs").status_code == 200
        listed = admin.get("/keys").text
        assert made["prefix"] in listed
        assert made["key"].split("_", 2)[2] not in listed
        row = ApiKey.objects.get(prefix=made["prefix"].removeprefix("hb_"))
        assert row.expires_at is not None
        assert abs(row.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=5)
        revoked = admin.post(f"/keys/{made['prefix']}/revoke")
        assert revoked.json()["state"] == "revoked"
        assert theirs.get("/runs").status_code == 401
    assert made["key"].split("_", 2)[2] not in str(list(AuditEntry.objects.values()))
    forever = admin.post("/keys", {"name": "x", "scopes": ["runs:read"], "days": None}).json()
    assert forever["expires_at"] is None
    until = {"name": "x", "expires_at": "2099-01-01T12:00:00+01:00"}
    assert admin.post("/keys", until).json()["expires_at"] == "2099-01-01T11:00:00+00:00"
    past = admin.post("/keys", {"name": "x", "expires_at": "2020-01-01T12:00:00Z"})
    assert (past.status_code, "in the past" in past.json()["detail"]) == (422, True)
    for name in (f"{BY_SCHEDULE}Report", f"{BY_CHANNEL}Mail"):  # its runs would pass for theirs
        refused = admin.post("/keys", {"name": name, "scopes": ["runs:read"]})
        assert (refused.status_code, "another word" in refused.json()["detail"]) == (422, True)


def test_given_scopes_that_the_maker_has_not_then_no_key_gets_them(
    site: WebServer, admin: Caller, workspace: Workspace
) -> None:
    response = admin.post("/keys", {"name": "x", "scopes": ["runs:read", "fleet:manage"]})
    assert response.status_code == 403
    assert response.json()["detail"] == (
        "You cannot grant scopes that you do not have: fleet:manage."
    )
    narrow = Caller(site, key_for(workspace, ["workspace:manage"]))
    with narrow.http:
        assert narrow.post("/keys", {"name": "x", "scopes": ["runs:read"]}).status_code == 403
        assert (
            narrow.post("/keys", {"name": "x", "scopes": ["workspace:manage"]}).status_code == 201
        )


def test_given_more_keys_than_a_page_then_every_one_is_listed_once(
    admin: Caller, workspace: Workspace
) -> None:
    for number in range(5):
        create_api_key(workspace, f"key {number}", scopes=["runs:read"])
    seen, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = admin.get("/keys", **query).json()
        assert len(page["keys"]) <= 2
        seen += [row["prefix"] for row in page["keys"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 6
    bad = admin.get("/keys", cursor="x")
    assert (bad.status_code, bad.json()["code"]) == (422, "cursor")


def test_given_a_key_and_a_session_then_each_is_told_who_it_is(
    site: WebServer, admin: Caller, workspace: Workspace
) -> None:
    me = admin.get("/me").json()
    assert me["name"].startswith("API key tool of ")
    assert (me["via"], me["workspace"]["slug"]) == ("api", workspace.slug)
    assert "fleet:manage" not in me["workspace"]["scopes"], "the key's maker is no superuser"
    elsewhere = Workspace.objects.create(slug=f"{workspace.slug}-2", name="elsewhere")
    bob = member(workspace, Role.VIEWER)
    Membership.objects.create(workspace=elsewhere, user=bob, role=Role.OPERATOR)
    cookies = {"sessionid": session_of(bob)}
    found = httpx.get(f"{site.url}/api/v1/workspaces", cookies=cookies).json()["workspaces"]
    assert {row["slug"]: "runs:write" in row["scopes"] for row in found} == {
        workspace.slug: False,
        elsewhere.slug: True,
    }
    asked = {"Heartbit-Workspace": workspace.slug}
    me = httpx.get(f"{site.url}/api/v1/me", cookies=cookies, headers=asked).json()
    assert (me["username"], me["via"]) == (bob.username, "web")
