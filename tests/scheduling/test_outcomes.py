"""A firing ends as its run and its deliveries do, wherever it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.choices import DeliveryKind, DeliveryStatus
from agents.delivery.words import DELIVERIES
from agents.models import Agent, Delivery, Run
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM
from heartbit_site.cli.commands.schedules import _standing
from heartbit_site.contract.schedules import FiringOut
from heartbit_site.operations.schedules import list_firings, show_schedule
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.models import Firing
from scheduling.querysets import with_outcomes
from tests.admin import rows
from tests.admin.conftest import browser

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.test import Client

    from heartbit_site.base.models import Workspace
    from scheduling.models import Schedule

__all__ = ["browser"]


def test_each_delivery_status_has_words() -> None:
    assert set(DELIVERIES) == set(DeliveryStatus.values)


def access_to(workspace: Workspace) -> Access:
    return Access(
        workspace=workspace, name="test", via="terminal", scopes=frozenset(), user_id=None
    )


def fired(plan: Schedule, status: str, *deliveries: str) -> UUID:
    """A firing whose run has that status, and whose deliveries have these."""
    # No worker of the tests may take the run before `Held` does.
    Agent.objects.filter(workspace=plan.workspace).update(queue="nobody-serves-this")
    run_id = run_schedule_now(plan, by=SYSTEM)
    match status:
        case "succeeded":
            rows.Held(run_id).finish("Sold a lot.")
        case "failed":
            rows.Held(run_id).fail("It could not.")
    for position, one in enumerate(deliveries):
        Delivery.objects.create(
            workspace=plan.workspace,
            run_id=run_id,
            position=position,
            kind=DeliveryKind.ARTIFACT,
            target={"kind": "artifact", "name": "report"},
            status=one,
        )
    return run_id


CASES = [
    ("queued", ("pending",), "pending", "queued", {"Queued"}),
    ("succeeded", (), None, "succeeded", {"Succeeded"}),
    ("succeeded", ("delivered",), "delivered", "succeeded, delivered", {"Succeeded", "Delivered"}),
    (
        *("succeeded", ("delivered", "pending"), "pending", "succeeded, being delivered"),
        {"Succeeded", "Being delivered"},
    ),
    (
        *("succeeded", ("delivered", "failed", "pending"), "failed", "succeeded, not delivered"),
        {"Succeeded", "Not delivered"},
    ),
    ("failed", (), None, "failed", {"Failed"}),
]


@pytest.mark.parametrize(("status", "deliveries", "delivery", "line", "pills"), CASES)
def test_a_firing_says_how_its_run_and_its_deliveries_ended(
    browser: Client,
    planned: Callable[..., Schedule],
    status: str,
    deliveries: tuple[str, ...],
    delivery: str | None,
    line: str,
    pills: set[str],
) -> None:
    plan = planned()
    fired(plan, status, *deliveries)
    [row] = list_firings(access_to(plan.workspace), str(plan.pk)).firings
    assert (row.status, row.run_status, row.delivery_status) == ("started", status, delivery)
    assert show_schedule(access_to(plan.workspace), str(plan.pk)).last == row
    assert _standing(row) == line
    pages = (
        reverse("admin:scheduling_schedule_changelist"),
        reverse("admin:scheduling_schedule_change", args=[plan.pk]),
        reverse("admin:scheduling_firing_changelist"),
    )
    for page in pages:
        text = browser.get(page).content.decode()
        assert all(one in text for one in pills), page
        assert "Started" not in text.rpartition("</tbody>")[0].partition("<tbody")[2], page


def test_a_list_of_firings_takes_one_query_however_long_it_is(
    planned: Callable[..., Schedule],
) -> None:
    plan = planned()
    for _ in range(5):
        fired(plan, "succeeded", "delivered")
    with CaptureQueriesContext(
        connection,
    ) as counted:
        rows = with_outcomes(Firing.objects.filter(schedule=plan))
        found = [FiringOut.of(row) for row in rows]
    assert len(found) == 5
    assert len(counted) == 1


def test_each_firing_has_the_status_of_its_own_run(planned: Callable[..., Schedule]) -> None:
    plan = planned()
    statuses = {
        fired(plan, "failed"): ("failed", None),
        fired(plan, "succeeded", "failed"): ("succeeded", "failed"),
        fired(plan, "queued", "pending"): ("queued", "pending"),
    }
    rows = with_outcomes(Firing.objects.filter(schedule=plan))
    assert {row.run_id: (row.run_status, row.delivery_status) for row in rows} == statuses


def test_a_firing_without_a_note_has_the_error_of_its_run(
    planned: Callable[..., Schedule],
) -> None:
    plan = planned()
    run_id = fired(plan, "failed")
    Run.objects.filter(pk=run_id).update(error={"kind": "tool", "message": "The tool failed."})
    [row] = list_firings(access_to(plan.workspace), str(plan.pk)).firings
    assert row.note == "The tool failed."
    Firing.objects.filter(run_id=run_id).update(note="Its own.")
    [row] = list_firings(access_to(plan.workspace), str(plan.pk)).firings
    assert row.note == "Its own."
