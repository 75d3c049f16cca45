"""Worker processes in the admin."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from agents.actions.request_worker_action import (
    WorkerNotFoundError,
    WorkerRequest,
    request_worker_action,
)
from agents.admin import queries
from agents.choices import Placement
from agents.models import WorkerHeartbeat
from heartbit_site.base import amounts
from heartbit_site.base.admin.themed import DialogForm, ReadOnlyAdmin, dialog, pill
from heartbit_site.base.audit import Actor

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ReadOnlyAdmin[WorkerHeartbeat]):
    """Which processes execute runs, and which have left."""

    list_display = ("name", "state", "home", "serves", "load", "beat", "started_at")
    list_filter = ("home",)
    search_fields = ("name",)
    live = "runs fleet"
    ordering = (F("left_at").desc(nulls_first=True), "-id")
    fields = (
        *("name", "state", "home", "serves", "load", "lease_seconds"),
        *("started_at", "beat_at", "left_at"),
    )
    readonly_fields = fields
    actions_detail = ("restart", "stop")

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerHeartbeat]:
        """With the number of runs each holds."""
        rows: Any = super().get_queryset(request)
        return queries.with_held(rows.with_state())

    def has_ask_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Workers are the installation's: superusers alone send them away."""
        return self.may(request, "ask", object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """A worker of the fleet can be asked as long as it is there."""
        offered: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        worker = self.get_object(request, object_id)
        there = worker is not None and worker.left_at is None and worker.home == Placement.FLEET
        return offered if there and worker is not None and worker.queues else []

    @dialog(
        DialogForm,
        label="Restart worker",
        explanation="It hands its runs back and starts itself anew, as another row of the list.",
        submit="Restart",
        icon="restart_alt",
        permissions=["ask"],
    )
    def restart(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Ask it, and show the list."""
        return self._ask(request, object_id, "restart")

    @dialog(
        DialogForm,
        label="Stop worker",
        explanation=(
            "It hands its runs back and leaves; others take them. A supervisor such as systemd, or "
            "a container's restart policy, may start it again."
        ),
        submit="Stop",
        icon="stop_circle",
        permissions=["ask"],
        variant="DANGER",
    )
    def stop(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Ask it, and show the list."""
        return self._ask(request, object_id, "stop")

    def _ask(self, request: HttpRequest, object_id: str, wanted: WorkerRequest) -> HttpResponse:
        try:
            user = request.user
            by = Actor(user.get_username(), "admin", user.pk)
            request_worker_action(int(object_id), wanted, by=by)
        except WorkerNotFoundError as gone:
            messages.warning(request, str(gone))
        else:
            messages.success(request, f"The worker was asked to {wanted}.")
        url = reverse("admin:agents_workerheartbeat_changelist")
        return HttpResponse(headers={"HX-Redirect": url})

    @admin.display(description="state")
    def state(self, worker: WorkerHeartbeat) -> SafeString:
        """Alive, leaving, silent (the next sweep decides) or gone."""
        if getattr(worker, "is_alive", False):
            if worker.requested_action:
                return pill("Leaving", tone="warning")
            return pill("Alive", tone="success")
        return pill("Gone") if worker.left_at else pill("Silent", tone="warning")

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
        silence: timedelta = getattr(worker, "silence", timedelta(0))
        return f"{amounts.duration(silence)} ago"
