"""Verbs on a person's own things refuse other people, whichever door calls them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.actions.decide_call import revoke_grants
from agents.models import Agent, Grant
from heartbit_site.base.access import Access, NoWorkspaceError
from heartbit_site.base.actions.api_keys import (
    MOST_OF_A_PERSON,
    TooManyKeysError,
    create_api_key,
    revoke_api_keys,
)
from heartbit_site.base.actions.users import set_password
from heartbit_site.base.audit import SYSTEM, Actor, actor_of
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models import ApiKey, Role, Workspace
from heartbit_site.contract.members import KeyIn
from heartbit_site.operations.members import create_own_key, list_own_keys, revoke_own_key
from tools.actions.credentials import remove_credential, save_credential
from tools.models import Credential

if TYPE_CHECKING:
    from collections.abc import Callable

NEW = "correct horse battery staple"


def _grant(workspace: Workspace, owner: User) -> Callable[[Actor], object]:
    agent, _ = Agent.objects.get_or_create(workspace=workspace, name="reporter")
    grant = Grant.objects.create(
        workspace=workspace, agent=agent, tool="add", user=owner, granted_by="ada"
    )
    return lambda by: revoke_grants([grant], by=by)


def _credential(workspace: Workspace, owner: User) -> Callable[[Actor], object]:
    row = Credential(
        workspace=workspace, name=f"mail {secrets.token_hex(4)}", kind="bearer", user=owner
    )
    save_credential(row, {"url": "https://mail.example", "token": "x" * 20}, by=SYSTEM)
    return lambda by: remove_credential(row, by=by)


def _key(workspace: Workspace, owner: User) -> Callable[[Actor], object]:
    row, _ = create_api_key(workspace, "report", scopes=["runs:read"], user=owner, by=SYSTEM)
    return lambda by: revoke_api_keys([row.pk], by=by)


def _password(_: Workspace, owner: User) -> Callable[[Actor], object]:
    return lambda by: set_password(owner.username, NEW, by=by)


THINGS = [_grant, _credential, _key, _password]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user(f"ada-{secrets.token_hex(4)}")


def person(workspace: Workspace, user: User, *scopes: str) -> Actor:
    return actor_of(Access(workspace, user.username, "web", frozenset(scopes), user.pk))


@pytest.mark.parametrize("thing", THINGS)
def test_another_person_is_refused(
    workspace: Workspace, ada: User, thing: Callable[[Workspace, User], Callable[[Actor], object]]
) -> None:
    act = thing(workspace, ada)
    ben = User.objects.create_user(f"ben-{secrets.token_hex(4)}")

    with pytest.raises(ForbiddenError):
        act(person(workspace, ben, "runs:write", "agents:write"))


@pytest.mark.parametrize("thing", [_grant, _credential, _key])
def test_a_manager_of_another_workspace_is_refused(
    workspace: Workspace, ada: User, thing: Callable[[Workspace, User], Callable[[Actor], object]]
) -> None:
    act = thing(workspace, ada)
    elsewhere = Workspace(pk=0, name="Elsewhere", slug="elsewhere")
    ben = User.objects.create_user(f"ben-{secrets.token_hex(4)}")

    with pytest.raises(NoWorkspaceError):
        act(person(elsewhere, ben, "runs:write", "workspace:manage"))


@pytest.mark.parametrize("thing", [_grant, _credential, _password])
def test_the_owner_and_heartbit_itself_are_let_in(
    workspace: Workspace, ada: User, thing: Callable[[Workspace, User], Callable[[Actor], object]]
) -> None:
    thing(workspace, ada)(person(workspace, ada, "runs:write"))
    thing(workspace, ada)(SYSTEM)


def test_a_stolen_key_makes_and_revokes_no_keys(workspace: Workspace, ada: User) -> None:
    workspace.memberships.create(user=ada, role=Role.OPERATOR)
    kept, _ = create_api_key(workspace, "production", scopes=["runs:read"], user=ada, by=SYSTEM)
    stolen, _ = create_api_key(workspace, "laptop", scopes=["runs:read"], user=ada, by=SYSTEM)
    scopes = frozenset({"runs:read", "runs:write"})
    access = Access(workspace, "laptop", "api", scopes, ada.pk, key_id=stolen.pk)
    with pytest.raises(ForbiddenError, match="does not change its owner's keys: sign in"):
        create_own_key(access, KeyIn(name="child", scopes=["runs:read"]))
    with pytest.raises(ForbiddenError, match="does not change its owner's keys"):
        revoke_own_key(access, kept.prefix)
    assert len(list_own_keys(access).keys) == 2
    session = Access(workspace, ada.username, "web", scopes, ada.pk)
    made = create_own_key(session, KeyIn(name="new", scopes=["runs:read"]))
    assert revoke_own_key(session, made.prefix).state == "revoked"


def test_a_person_has_a_limited_number_of_valid_keys(workspace: Workspace, ada: User) -> None:
    def make() -> ApiKey:
        return create_api_key(workspace, "x", scopes=["runs:read"], user=ada, by=SYSTEM)[0]

    rows = [make() for _ in range(MOST_OF_A_PERSON)]
    with pytest.raises(TooManyKeysError, match="has 50 API keys that are valid, the most"):
        make()
    revoke_api_keys([rows[0].pk], by=SYSTEM)
    ApiKey.objects.filter(pk=rows[1].pk).update(expires_at=timezone.now())
    make()
    make()
    with pytest.raises(TooManyKeysError):
        make()
