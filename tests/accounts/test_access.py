"""People and keys become rights in one place: by role, in one workspace, while they last."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, User

from heartbit_site.base.access import (
    NoWorkspaceError,
    access_of_key,
    access_of_user,
    is_operator,
    members_with,
    refresh_access,
    visible_to,
    workspaces_of,
)
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.models import ApiKey, Membership, Role, Workspace
from heartbit_site.base.scopes import SCOPES

pytestmark = pytest.mark.django_db

RIGHTS = [
    (Role.VIEWER, {"runs:read", "agents:read"}),
    (Role.OPERATOR, {"runs:read", "agents:read", "runs:write", "approvals:decide"}),
    (
        Role.EDITOR,
        {"runs:read", "agents:read", "runs:write", "approvals:decide", "agents:write"},
    ),
    (Role.ADMIN, set(SCOPES) - {"fleet:manage"}),
]


@pytest.fixture
def here() -> Workspace:
    return Workspace.objects.create(slug="here", name="Here")


@pytest.fixture
def there() -> Workspace:
    return Workspace.objects.create(slug="there", name="There")


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada of access")


@pytest.mark.parametrize(("role", "scopes"), RIGHTS)
def test_given_a_member_then_the_role_says_what_they_may(
    here: Workspace, ada: User, role: Role, scopes: set[str]
) -> None:
    Membership.objects.create(workspace=here, user=ada, role=role)
    access = access_of_user(ada, "here")
    assert access.scopes == scopes
    assert (access.name, access.via, access.workspace) == ("ada of access", "web", here)


def test_given_somebody_of_another_workspace_then_it_does_not_exist_for_them(
    here: Workspace, there: Workspace, ada: User
) -> None:
    Membership.objects.create(workspace=there, user=ada, role=Role.ADMIN)
    for user in (ada, AnonymousUser()):
        with pytest.raises(NoWorkspaceError, match="no workspace here that you belong to"):
            access_of_user(user, "here")
    with pytest.raises(NoWorkspaceError):
        access_of_user(ada, "nowhere")


def test_given_a_superuser_then_every_workspace_is_theirs_and_the_fleet_too(
    here: Workspace, there: Workspace
) -> None:
    root = User.objects.create_superuser("root")
    assert access_of_user(root, "there").scopes == set(SCOPES)
    assert {here, there} <= set(workspaces_of(root))
    access = access_of_user(root, "here")
    assert is_operator(access)
    User.objects.filter(pk=root.pk).update(is_active=False)
    assert not is_operator(access), "who was switched off operates nothing"


def test_given_rows_of_two_workspaces_then_a_member_sees_those_of_theirs(
    here: Workspace, there: Workspace, ada: User
) -> None:
    Membership.objects.create(workspace=here, user=ada)
    for workspace in (here, there):
        create_api_key(workspace, "a key", scopes=["runs:read"])
    assert [key.workspace for key in visible_to(ApiKey.objects.all(), ada)] == [here]
    assert not visible_to(ApiKey.objects.all(), AnonymousUser()).exists()


def test_given_an_inactive_person_then_nothing_is_theirs(here: Workspace, ada: User) -> None:
    Membership.objects.create(workspace=here, user=ada, role=Role.ADMIN)
    access = access_of_user(ada, "here")
    ada.is_active = False
    ada.save()
    assert refresh_access(access) is None
    assert not workspaces_of(ada).exists()
    assert list(members_with(here, "runs:read")) == []


def test_given_a_changed_role_when_renewed_then_the_new_one_counts(
    here: Workspace, ada: User
) -> None:
    member = Membership.objects.create(workspace=here, user=ada, role=Role.OPERATOR)
    access = access_of_user(ada, "here")
    assert list(members_with(here, "approvals:decide")) == [ada.pk]
    member.role = Role.VIEWER
    member.save()
    now = refresh_access(access)
    assert now is not None
    assert not now.allows("approvals:decide")
    assert list(members_with(here, "approvals:decide")) == []
    member.delete()
    assert refresh_access(access) is None


def test_given_a_key_when_revoked_then_it_opens_nothing_any_more(
    here: Workspace, ada: User
) -> None:
    create_api_key(here, "an earlier one", scopes=["runs:read"])
    key, _ = create_api_key(here, "nightly", scopes=["runs:read", "fleet:manage"], user=ada)
    create_api_key(here, "a later one", scopes=["runs:read"])
    access = access_of_key(key)
    assert access.name == "API key nightly of ada of access"
    assert not is_operator(access)
    assert refresh_access(access) == access
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=key.created_at)
    assert refresh_access(access) is None
