"""Worker processes in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import F, QuerySet
from django.utils import timezone

from agents.admin import queries, words
from agents.models import WorkerHeartbeat
from heartbit_site.base.admin.themed import ReadOnlyAdmin, pill

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ReadOnlyAdmin[WorkerHeartbeat]):
    """Which processes execute runs, and which have left."""

    list_display = ("name", "state", "home", "serves", "load", "beat", "started_at")
    list_filter = ("home",)
    search_fields = ("name",)
    ordering = (F("gone_at").desc(nulls_first=True), "-id")
    fields = (
        *("name", "state", "home", "serves", "load", "lease_seconds"),
        *("started_at", "beat_at", "gone_at"),
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerHeartbeat]:
        """With the number of runs each holds."""
        return queries.with_held(super().get_queryset(request))

    @admin.display(description="state")
    def state(self, worker: WorkerHeartbeat) -> SafeString:
        """Alive, silent (the next sweep decides) or gone."""
        if queries.is_alive(worker):
            return pill("Alive", tone="success")
        return pill("Gone") if worker.gone_at else pill("Silent", tone="warning")

    @admin.display(description="queues")
    def serves(self, worker: WorkerHeartbeat) -> str:
        """The queues it serves; a local process has none."""
        return ", ".join(worker.queues) or "its own runs"

    @admin.display(description="holds")
    def load(self, worker: WorkerHeartbeat) -> str:
        """Runs now, of how many at most."""
        held: int = getattr(worker, "held", 0)
        return f"{held} of {worker.slots}"

    @admin.display(description="last heartbeat", ordering="beat_at")
    def beat(self, worker: WorkerHeartbeat) -> str:
        """How long ago."""
        return f"{words.duration(timezone.now() - worker.beat_at)} ago"
