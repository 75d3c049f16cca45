"""What a person reads who may not do something: the role it needs, and who can help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from agents.actions.create_default_team import create_default_team
from agents.approvals.links import open_link, token_of
from agents.errors import CallClosedError
from heartbit_site.base.access import access_of_user
from heartbit_site.base.models import Membership, Role
from heartbit_site.base.rights import (
    INSTALLATION_ADMINS,
    describe_closed_admin,
    describe_refusal,
    people_with,
)
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


def told(workspace: Workspace, user: User, scope: str) -> str:
    return describe_refusal(access_of_user(user, workspace.slug), scope)


def test_given_a_viewer_then_role_and_admins_are_named_and_no_scope(workspace: Workspace) -> None:
    boss, viewer = member(workspace, Role.ADMIN), member(workspace, Role.VIEWER)
    said = told(workspace, viewer, "runs:write")
    named = (Role.OPERATOR, Role.VIEWER, boss.username, workspace.name)
    assert [one for one in named if one not in said] == []
    assert "runs:write" not in said


def test_given_no_active_admin_then_the_installations_are_named(workspace: Workspace) -> None:
    boss, viewer = member(workspace, Role.ADMIN), member(workspace, Role.VIEWER)
    User.objects.filter(pk=boss.pk).update(is_active=False)
    for said in (told(workspace, viewer, "runs:write"), describe_closed_admin(viewer)):
        assert INSTALLATION_ADMINS in said
        assert boss.username not in said


def test_given_what_no_role_has_then_the_installations_admins_are_named(
    workspace: Workspace,
) -> None:
    assert INSTALLATION_ADMINS in told(workspace, member(workspace, Role.ADMIN), "fleet:manage")


def test_given_many_who_can_then_some_are_named_and_the_others_counted(
    workspace: Workspace,
) -> None:
    Membership.objects.filter(workspace=workspace).delete()
    assert people_with(workspace, ["runs:write"]) == {"runs:write": INSTALLATION_ADMINS}
    names = sorted(member(workspace, role).username for role in (Role.ADMIN, Role.OPERATOR) * 3)
    member(workspace, Role.VIEWER)
    said = people_with(workspace, ["runs:write"])["runs:write"]
    assert said == f"{names[0]}, {names[1]}, {names[2]} and 3 more"


def test_given_a_decider_who_became_a_viewer_then_their_link_says_who_can_help(
    workspace: Workspace,
) -> None:
    create_default_team(workspace)
    boss, user = member(workspace, Role.ADMIN), member(workspace, Role.OPERATOR)
    token = token_of(unserved(workspace), user.pk)
    Membership.objects.filter(user=user).update(role=Role.VIEWER)
    with pytest.raises(CallClosedError, match=boss.username) as refused:
        open_link(token)
    assert "approvals:decide" not in str(refused.value)
