"""The searches of runs that people make every day, as links above the list."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from unfold.contrib.filters.admin import RadioFilter

from agents.choices import RunStatus

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

    from agents.models import Run

LONG = timedelta(minutes=10)
VIEWS = {
    "failed": "Failed today",
    "waiting": "Waiting",
    "long": "Long-running",
    "quarantined": "Quarantined",
}


class ViewFilter(RadioFilter):  # type: ignore[misc]  # unfold has no types
    """Filter by one of the usual searches."""

    title = "view"
    parameter_name = "view"
    all_option = ("", "All")

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the names of the views."""
        return list(VIEWS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """Return the runs of the chosen view."""
        now = timezone.localtime()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        failed = Q(status__in=[RunStatus.FAILED, RunStatus.QUARANTINED])
        active = Q(status__in=[RunStatus.RUNNING, RunStatus.WAITING], finished_at__isnull=True)
        conditions = {
            "failed": failed & Q(created_at__gte=midnight),
            "waiting": Q(status=RunStatus.WAITING, finished_at__isnull=True),
            "long": active & Q(started_at__lt=now - LONG),
            "quarantined": Q(status=RunStatus.QUARANTINED),
        }
        return queryset.filter(conditions.get(self.value() or "", Q()))


def links(request: HttpRequest) -> list[tuple[str, str, bool]]:
    """Name, address and whether it is the one on the page."""
    page, chosen = reverse("admin:agents_run_changelist"), request.GET.get("view", "")
    every = ("All", page, not chosen)
    return [every, *((title, f"{page}?view={key}", key == chosen) for key, title in VIEWS.items())]
