"""Statuses, times, amounts and links to runs on the admin's pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from agents.choices import DeliveryStatus
from agents.models import Run
from heartbit_site.admin.columns import Tone, link, pill
from heartbit_site.admin.themed import M, ReadOnlyAdmin
from heartbit_site.base.amounts import counted, duration, money
from heartbit_site.base.models import Workspace
from heartbit_site.base.tone import STATUS_TONES, status_word

DELIVERY_TONES: dict[str, Tone] = {
    DeliveryStatus.PENDING: "info",
    DeliveryStatus.DELIVERED: "success",
    DeliveryStatus.FAILED: "danger",
}
AGENT_TONES: dict[str, Tone] = {
    "idle": "",
    "busy": "info",
    "error": "danger",
    "stopped": "warning",
}


def run_pill(status: str) -> SafeString:
    """Return a run's status as a label."""
    return pill(status_word(status), tone=STATUS_TONES.get(status, ""))


def agent_pill(state: str) -> SafeString:
    """Return an agent's state as a label."""
    return pill(state.capitalize(), tone=AGENT_TONES[state])


def cost(usd: Decimal, calls: int, unpriced: int) -> str:
    """Return the known cost of model calls, and how many of them have no known price."""
    if calls and unpriced == calls:
        return "cost unknown"
    rest = f" + {counted(unpriced, 'call')} without a price" if unpriced else ""
    return f"{money(usd)}{rest}"


def short_id(run_id: UUID) -> str:
    """Return the end of a run's id: ids of one second begin alike."""
    return str(run_id)[-8:]


def run_duration(run: Run) -> str:
    """Return a run's duration, until now if it has not ended; waiting in the queue counts."""
    return duration((run.finished_at or timezone.now()) - run.created_at)


def tokens(read: int, written: int) -> str:
    """Tokens read and written."""
    return f"{read:,} in · {written:,} out"


class RunLinks(ChangeList):  # type: ignore[misc]  # unfold has no types
    """A list whose rows lead to the pages of runs."""

    def url_for_result(self, result: Any) -> str:
        """Return the address of the page of a row's run."""
        return _page_of(result)


class LeadsToRuns(ReadOnlyAdmin[M]):
    """Runs, or rows of runs: the list and the rows' own addresses lead to the runs' pages."""

    preserve_filters = False  # no page but the admin's reads them

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Let every row lead to the page of its run."""
        return RunLinks

    def find_row(self, request: HttpRequest, object_id: str) -> M | None:
        """Return the row of an address, if the user may see it."""
        return self.get_object(request, object_id)

    def change_view(
        self, request: HttpRequest, object_id: str, *place: Any, **options: Any
    ) -> HttpResponse:
        """Redirect to the run's page; without a row, answer as for one that is not there."""
        row = self.find_row(request, object_id)
        if row is None or request.method != "GET" or not self.has_view_permission(request, row):
            return super().change_view(request, object_id, *place, **options)
        return redirect(_page_of(row))


def _page_of(row: Any) -> str:
    run: Run = row if isinstance(row, Run) else row.run
    return run_url(run.workspace, run.pk)


def run_url(workspace: Workspace, run_id: UUID | str) -> str:
    """Return the address of a run's page."""
    return reverse("web:run", args=[workspace.slug, run_id])


def run_link(workspace: Workspace, run_id: UUID, text: str = "") -> SafeString:
    """Return a link to a run's page; without a text it shows the id."""
    return link(run_url(workspace, run_id), text or run_id)


def short_run_link(workspace: Workspace, run_id: UUID) -> SafeString:
    """Return a link to a run's page that shows the end of the id."""
    return run_link(workspace, run_id, f"…{short_id(run_id)}")


def kept_run_link(workspace: Workspace, run_id: UUID | None) -> SafeString | str:
    """Return a link as long as the run is there: what refers to runs may outlive them."""
    if run_id is None:
        return "-"
    if not Run.objects.filter(pk=run_id).exists():
        return f"{run_id}, which is gone"
    return run_link(workspace, run_id)
