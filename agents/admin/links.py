"""Links from the admin to a run's page, which is the one of its workspace."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from agents.models import Run
from heartbit_site.admin.columns import link
from heartbit_site.admin.themed import M, ReadOnlyAdmin
from heartbit_site.base.models import Workspace


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


def kept_run_link(workspace: Workspace, run_id: UUID | None) -> SafeString | str:
    """Return a link as long as the run is there: what refers to runs may outlive them."""
    if run_id is None:
        return "-"
    if not Run.objects.filter(pk=run_id).exists():
        return f"{run_id}, which is gone"
    return run_link(workspace, run_id)
