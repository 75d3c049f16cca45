"""Refusals of names that are missing or taken say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from agents.definitions.unknown_agent import unknown_agent
from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.actions.users import UserExistsError, create_user
from heartbit_site.base.audit import SYSTEM
from heartbit_site.workspaces import find_workspace

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


def test_without_agents_the_refusal_names_the_import() -> None:
    assert str(unknown_agent("a", [], "acme")) == (
        "There is no agent named 'a' in acme: there are: none yet; `heartbit config import` makes "
        "them from a file."
    )


def test_an_unknown_workspace_is_made_by_a_superuser(workspace: Workspace) -> None:
    with pytest.raises(NoWorkspaceError, match="A superuser makes one in the admin") as refused:
        find_workspace("no-such-workspace-here")
    assert str(refused.value).startswith("There is no workspace 'no-such-workspace-here': ")


def test_a_user_who_exists_is_added_as_a_member(workspace: Workspace) -> None:
    name = f"ann-{workspace.pk}"
    User.objects.create(username=name)
    with pytest.raises(UserExistsError, match=f"{name} already exists: .* POST /members"):
        create_user(name, "x", by=SYSTEM, workspace=workspace, role="viewer")
