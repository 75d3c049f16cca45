"""Links from the admin to a run's page, which is the one of its workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.html import format_html
from unfold.views import ChangeList

from agents.models import Run

if TYPE_CHECKING:
    from uuid import UUID

    from django.utils.safestring import SafeString

    from heartbit_site.base.models import Workspace


class RunLinks(ChangeList):  # type: ignore[misc]  # unfold has no types
    """A list of runs, or of rows of runs, that leads to the runs' pages.

    Its admin class sets ``preserve_filters = False``: no page but the admin's reads them.
    """

    def url_for_result(self, result: Any) -> str:
        """Return the address of the page of a row's run."""
        run: Run = result if isinstance(result, Run) else result.run
        return run_url(run.workspace, run.pk)


def run_url(workspace: Workspace, run_id: UUID | str) -> str:
    """Return the address of a run's page."""
    return reverse("web:run", args=[workspace.slug, run_id])


def run_link(workspace: Workspace, run_id: UUID, text: str = "") -> SafeString:
    """Return a link to a run's page; without a text it shows the id."""
    url = run_url(workspace, run_id)
    return format_html('<a class="hb-link" href="{}">{}</a>', url, text or run_id)


def kept_run_link(workspace: Workspace, run_id: UUID | None) -> SafeString | str:
    """Return a link as long as the run is there: what refers to runs may outlive them."""
    if run_id is None:
        return "-"
    if not Run.objects.filter(pk=run_id).exists():
        return f"{run_id}, which is gone"
    return run_link(workspace, run_id)
