"""The list of runs: filtered, searched, cheap, closed to writes, and leading to the runs' pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from agents.models import AgentVersion, Run, WorkerHeartbeat
from tests.admin import rows

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/run/"


def page(run: Run) -> str:
    return reverse("web:run", args=[run.workspace.slug, run.pk])


def listed(browser: Client, query: str = "") -> set[Any]:
    return {run.pk for run in browser.get(f"{LIST}{query}").context["cl"].result_list}


def test_given_a_run_then_the_list_and_its_former_address_lead_to_its_page(
    browser: Client, workspace: Workspace
) -> None:
    root, child = rows.tree(workspace)
    for run in (root, child):
        assert f'href="{page(run)}"' in browser.get(f"{LIST}?runs=all").content.decode()
        led = browser.get(reverse("admin:agents_run_change", args=[run.pk]))
        assert (led.status_code, led["Location"]) == (302, page(run))
        assert browser.get(page(run)).status_code == 200


def test_given_staff_of_nothing_then_a_run_is_neither_led_to_nor_shown(
    guest: Client, workspace: Workspace
) -> None:
    root, _ = rows.tree(workspace)
    assert guest.get(reverse("admin:agents_run_change", args=[root.pk])).status_code == 403
    assert guest.get(page(root)).status_code == 404


def test_what_a_person_asked_is_shown_and_never_run(browser: Client, workspace: Workspace) -> None:
    rows.tree(workspace)
    text = browser.get(f"{LIST}?runs=all").content.decode()
    assert rows.HOSTILE not in text
    assert "&lt;script&gt;" in text


def test_the_list_leaves_sub_agents_out_until_asked(browser: Client, workspace: Workspace) -> None:
    root, child = rows.tree(workspace)
    assert root.pk in listed(browser)
    assert child.pk not in listed(browser)
    assert {root.pk, child.pk} <= listed(browser, "?runs=all")
    assert root.pk not in listed(browser, "?runs=children")
    assert child.pk in listed(browser, f"?q={str(child.pk)[:23]}")
    assert child.pk in listed(browser, "?runs=all&agent=researcher&status__exact=succeeded")
    assert root.pk not in listed(browser, "?runs=all&agent=researcher")


@pytest.mark.parametrize("model", [Run, AgentVersion, WorkerHeartbeat])
def test_what_the_runtime_writes_nobody_writes_here(
    browser: Client, workspace: Workspace, model: type[Model]
) -> None:
    rows.tree(workspace)
    name = f"admin:agents_{model._meta.model_name}"
    row = model._default_manager.order_by("-pk").first()
    assert row is not None
    for url in (
        reverse(f"{name}_add"),
        reverse(f"{name}_change", args=[row.pk]),
        reverse(f"{name}_delete", args=[row.pk]),
    ):
        assert browser.post(url, {"post": "yes"}).status_code == 403, url
    before = model._default_manager.count()
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    browser.post(reverse(f"{name}_changelist"), chosen)
    assert model._default_manager.count() == before


def test_a_worker_s_page_says_why_no_sandbox_holds(browser: Client) -> None:
    problem = "Code is not run here, because no sandbox works: bwrap is not installed."
    row = WorkerHeartbeat.objects.create(name="host:1", lease_seconds=1, sandbox_problem=problem)
    url = reverse("admin:agents_workerheartbeat_change", args=[row.pk])
    assert problem in browser.get(url).content.decode()
    WorkerHeartbeat.objects.filter(pk=row.pk).update(sandbox="bubblewrap", sandbox_problem="")
    page = browser.get(url).content.decode()
    assert "bubblewrap" in page
    assert "Sandbox problem" not in page


def test_pages_cost_the_same_however_much_happened(
    browser: Client, workspace: Workspace, django_assert_max_num_queries: Any
) -> None:
    for _ in range(11):
        rows.tree(workspace)
    for url, most in (
        (LIST, 12),
        (f"{LIST}?runs=all", 12),
        (reverse("admin:agents_agent_changelist"), 12),
        (reverse("admin:agents_workerheartbeat_changelist"), 11),
        (reverse("admin:agents_toolcall_changelist"), 11),
        (reverse("admin:index"), 11),
    ):
        with django_assert_max_num_queries(most):
            assert browser.get(url).status_code == 200
