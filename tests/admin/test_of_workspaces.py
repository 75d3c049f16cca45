"""Lists of the admin say of which workspaces their rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from agents.actions.write_agents import create_default_team
from agents.models import Agent
from tests.conftest import new_workspace
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.clients import Client


def test_given_rows_of_several_workspaces_then_a_list_names_them_and_can_show_one(
    browser: Client, workspace: Workspace
) -> None:
    other = new_workspace()
    create_default_team(other)
    for one in (workspace, other):
        Agent.objects.filter(workspace=one).update(queue="nobody-serves-this")
        start_run(one, f"Work of {one.slug}", agent="writer")
    browser.get(reverse("web:runs", args=[workspace.slug]))  # the frame names it from now on
    listed = reverse("admin:agents_run_changelist")
    both = browser.get(listed).content.decode()
    assert "Rows of all your workspaces." in both
    assert 'data-label="Workspace"' in both
    query = f"workspace__id__exact={workspace.pk}"
    assert f'href="?{query}"' in both
    one_alone = browser.get(f"{listed}?{query}").content.decode()
    assert f"Rows of {workspace.name} alone." in one_alone
    assert (f"Work of {workspace.slug}" in one_alone, f"Work of {other.slug}" in one_alone) == (
        True,
        False,
    )


def test_a_list_has_one_column_for_the_workspace(browser: Client, workspace: Workspace) -> None:
    new_workspace()
    browser.get(reverse("web:runs", args=[workspace.slug]))
    listed = browser.get(reverse("admin:base_auditentry_changelist"))
    assert [*listed.context["cl"].list_display].count("of_workspace") == 1


def test_a_new_row_goes_to_the_workspace_of_the_frame(
    browser: Client, workspace: Workspace
) -> None:
    later = new_workspace()
    for here in (workspace, later):
        browser.get(reverse("web:runs", args=[here.slug]))
        form = browser.get(reverse("admin:agents_webhookendpoint_add")).content.decode()
        assert f'<option value="{here.pk}" selected>' in form
