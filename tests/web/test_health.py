"""Health as a work page: figures of a span, errors by sentence, and alerts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.models import Agent, WorkspaceAlert
from heartbit_site.base.models import Role
from tests.health.filled import fill
from tests.web.axe import serious
from tests.web.people import member
from tests.web.test_account import browser

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

GIVEN = {
    "figure": "failure_rate",
    "comparison": "above",
    "threshold": "2.5",
    "window_minutes": "60",
    "mail_to": "ann@example.org",
    "enabled": "on",
}


@pytest.mark.parametrize("width", [1280, 390])
def test_given_a_viewer_then_they_read_the_figures_of_a_span(
    visitors: Visitors, workspace: Workspace, width: int
) -> None:
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, 300)
    viewer = visitors(user=member(workspace, Role.VIEWER), width=width, dark=width == 390)
    page = viewer.page
    viewer.go("health/?range=30d")
    expect(page.get_by_role("link", name="30 days")).to_have_attribute("aria-current", "true")
    errors = page.get_by_role("region", name="Errors by sentence")
    expect(errors.get_by_role("row")).to_have_count(2)
    expect(errors).to_contain_text("The provider answered … after … s for …")
    pairs = page.get_by_role("region", name="Latency and cost")
    expect(pairs.get_by_role("row")).to_have_count(25)
    expect(page.get_by_role("region", name="Figures")).to_contain_text("15")
    assert [*map(str, serious(page))] == []
    page.get_by_role("link", name="1 hour").click()
    expect(page).to_have_url(re.compile("range=1h$"))
    for tab in ("Usage", "Alerts"):
        page.get_by_role("navigation", name="Health").get_by_role("link", name=tab).click()
        expect(page.get_by_role("heading", name="Health")).to_be_visible()
        if tab == "Usage":  # one of twenty failed; the first of them is of the day before these
            expect(page.locator(".charts")).to_contain_text(re.compile("1[3-5] failed"))
            assert page.locator("rect.failed").count() > 12
        assert [*map(str, serious(page))] == []


def test_given_an_editor_then_alerts_are_added_changed_and_removed(
    visitors: Visitors, workspace: Workspace
) -> None:
    editor = visitors(user=member(workspace, Role.EDITOR))
    page = editor.page
    editor.go("health/alerts/")
    page.get_by_label("Figure").select_option("cost")
    page.get_by_label("Threshold").fill("5")
    page.get_by_label("Mail to").fill("ann")
    editor.expect("409")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("Mail to")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("'ann' is not an e-mail address")).to_be_visible()
    page.get_by_label("Mail to").fill("ann@example.org")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("region", name="Alerts").last).to_contain_text(
        "Cost in US dollars above 5"
    )
    page.get_by_role("link", name="Change Cost").click()
    page.get_by_label("Threshold").fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Alerts").last).to_contain_text("above 7")
    assert [*map(str, serious(page))] == []
    page.get_by_role("link", name="Change Cost").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("There is no alert yet.")).to_be_visible()


@pytest.mark.django_db
def test_given_a_viewer_then_they_change_no_alert(workspace: Workspace) -> None:
    place = f"/w/{workspace.slug}/health/alerts/"
    editor, viewer = (browser(member(workspace, role)) for role in (Role.EDITOR, Role.VIEWER))
    assert editor.post(place, GIVEN | {"do": "save"}).status_code == 302
    alert = WorkspaceAlert.objects.get(workspace=workspace)
    for given in ({"do": "remove"}, {"do": "save", "threshold": "9"}):
        viewer.post(place, GIVEN | given | {"id": str(alert.pk)})
    alert.refresh_from_db()
    assert alert.threshold == 2.5
    assert "form" not in viewer.get(place).context or viewer.get(place).context["form"] is None


@pytest.mark.django_db
def test_given_former_addresses_then_they_lead_to_health(workspace: Workspace) -> None:
    viewer = browser(member(workspace, Role.VIEWER))
    assert viewer.get(f"/w/{workspace.slug}/usage/").headers["location"].endswith("/health/usage/")
    assert viewer.get(f"/w/{workspace.slug}/fleet/").status_code == 403
    assert viewer.get(f"/w/{workspace.slug}/health/?range=never").status_code == 200
