"""The form of a schedule shows its next runs while somebody fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from scheduling.models import Schedule
from tests.web.people import person

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


def test_given_a_new_schedule_when_its_times_are_filled_in_then_its_next_runs_are_shown(
    visitors: Visitors, workspace: Workspace
) -> None:
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go("/admin/scheduling/schedule/add/")
    page.evaluate(
        "document.querySelectorAll('.tab-wrapper').forEach((one) => one.style.display = '')"
    )
    page.locator("[name=workspace]").select_option(str(workspace.pk), force=True)
    page.locator("[name=time_zone]").fill("Europe/Berlin")
    page.locator("[name=cron]").fill("30 7 * * *")
    shown = page.locator("#hb-preview")
    expect(shown.locator("li")).to_have_count(5)
    expect(shown).to_contain_text("07:30 Europe/Berlin")
    page.locator("[name=cron]").fill("7:30")
    expect(shown).to_contain_text("7:30")
    expect(shown.locator("li")).to_have_count(0)
    assert not Schedule.objects.filter(workspace=workspace).exists()


def test_given_markup_as_a_rhythm_and_no_workspace_then_the_preview_shows_it_as_text(
    visitors: Visitors,
) -> None:
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go("/admin/scheduling/schedule/add/")
    page.evaluate(
        "document.querySelectorAll('.tab-wrapper').forEach((one) => one.style.display = '')"
    )
    page.locator("[name=workspace]").select_option("", force=True)
    page.locator("[name=cron]").fill("<p id=injected x-data x-init=document.title='injected'>")
    shown = page.locator("#hb-preview")
    expect(shown).to_contain_text("<p id=injected")
    expect(page.locator("#injected")).to_have_count(0)
    assert page.title() != "injected"
