"""Verbs on a person's own things refuse other people, whichever door calls them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from agents.actions.decide_call import revoke_grants
from agents.models import Agent, Grant
from heartbit_site.base.access import Access, NoWorkspaceError
from heartbit_site.base.actions.api_keys import create_api_key, revoke_api_keys
from heartbit_site.base.actions.users import set_password
from heartbit_site.base.audit import SYSTEM, Actor, actor_of
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models import Workspace
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
