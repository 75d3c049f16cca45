"""Forms of accounts and groups: Django's permissions are offered where a tool asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.apps import AppConfig, apps
from django.contrib.auth.models import Group, Permission, User

from agents.models import ToolBinding
from tests.admin.forms import filled

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

#: As the account's form asks for it.
JOINED = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> tuple[str, str]:
    """The forms of an account and a group, where Heartbit is alone and no tool asks."""
    alone = [one for one in apps.get_app_configs() if not is_of_tests(one)]
    monkeypatch.setattr(apps, "get_app_configs", lambda: alone)
    user = User.objects.create(username=f"p-{workspace.slug}", is_staff=True)
    group = Group.objects.create(name=f"g-{workspace.slug}")
    seen = Permission.objects.get(codename="view_workspace")
    user.user_permissions.add(seen)
    group.permissions.add(seen)
    return f"/admin/auth/user/{user.pk}/change/", f"/admin/auth/group/{group.pk}/change/"


def is_of_tests(config: AppConfig) -> bool:
    return config.name.partition(".")[0] == "tests"


def test_they_are_left_out_and_kept_where_no_tool_asks(
    browser: Client, pages: tuple[str, str], workspace: Workspace
) -> None:
    for page in pages:
        shown = browser.get(page)
        text = shown.content.decode()
        assert 'name="user_permissions"' not in text
        assert 'name="permissions"' not in text
        assert browser.post(page, filled(shown) | JOINED).status_code == 302
    assert 'name="is_superuser"' in browser.get(pages[0]).content.decode()
    assert 'name="groups"' in browser.get(pages[0]).content.decode()
    held = User.objects.get(username=f"p-{workspace.slug}").user_permissions
    assert held.count() == 1
    assert Group.objects.get(name=f"g-{workspace.slug}").permissions.count() == 1


def test_they_are_offered_where_a_tool_asks(
    browser: Client, pages: tuple[str, str], workspace: Workspace
) -> None:
    found = ToolBinding.objects.filter(agent__workspace=workspace).first()
    assert found is not None
    ToolBinding.objects.filter(pk=found.pk).update(requires="shop.view_order")
    account, group = (browser.get(page).content.decode() for page in pages)
    assert 'name="user_permissions"' in account
    assert 'name="permissions"' in group
