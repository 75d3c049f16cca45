"""Worker processes in the admin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from agents.actions.fleet import WorkerRequest, request_worker_action
from agents.choices import Placement, RunStatus
from agents.models import WorkerHeartbeat
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, pill
from heartbit_site.admin.permissions import INSTALLATION
from heartbit_site.admin.themed import ReadOnlyAdmin
from heartbit_site.base import amounts


def _can_be_asked(worker: WorkerHeartbeat) -> bool:
    """Return True for a running worker of the fleet."""
    return worker.left_at is None and worker.home == Placement.FLEET and bool(worker.queues)


def _ask(request: HttpRequest, worker: WorkerHeartbeat, wanted: WorkerRequest) -> str:
    """Ask the worker, and return the address of the list."""
    request_worker_action(worker.pk, wanted, by=actor_of(request))
    messages.success(request, f"The worker was asked to {wanted}.")
    return reverse("admin:agents_workerheartbeat_changelist")


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ReadOnlyAdmin[WorkerHeartbeat]):
    """Processes that execute runs, and those that have left."""

    work_page = "web:health"
    needs: ClassVar[dict[str, str]] = {"ask": INSTALLATION}  # superusers alone send workers away
    list_display = ("name", "state", "home", "serves", "load", "beat", "started_at")
    list_filter = ("home",)
    search_fields = ("name",)
    live = "definitions runs fleet"
    ordering = (F("left_at").desc(nulls_first=True), "-id")
    fields = (
        *("name", "state", "home", "serves", "load", "sandbox", "sandbox_problem", "lease_seconds"),
        *("started_at", "beat_at", "left_at"),
    )
    actions_detail = ("restart", "stop")

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerHeartbeat]:
        """Return the workers, each with the number of its runs."""
        rows: Any = super().get_queryset(request)
        running = Q(runs__status=RunStatus.RUNNING)
        found: QuerySet[WorkerHeartbeat] = rows.with_state().annotate(
            held=Count("runs", filter=running)
        )
        return found

    def get_fields(self, request: HttpRequest, obj: WorkerHeartbeat | None = None) -> Any:
        """Return the fields; the sandbox's problem is one if there is one."""
        is_fine = obj is not None and not obj.sandbox_problem
        return [name for name in self.fields if name != "sandbox_problem" or not is_fine]

    @dialog(
        "Restart worker",
        "It requeues its runs and starts again, as another row of the list.",
        icon="restart_alt",
        permission="ask",
        offered=_can_be_asked,
    )
    def restart(self, request: HttpRequest, worker: WorkerHeartbeat, form: DialogForm) -> str:
        """Ask it, and show the list."""
        return _ask(request, worker, "restart")

    @dialog(
        "Stop worker",
        "It requeues its runs and leaves; others take them. A supervisor such as systemd, or a "
        "container's restart policy, may start it again.",
        icon="stop_circle",
        permission="ask",
        variant="DANGER",
        offered=_can_be_asked,
    )
    def stop(self, request: HttpRequest, worker: WorkerHeartbeat, form: DialogForm) -> str:
        """Ask it, and show the list."""
        return _ask(request, worker, "stop")

    def state(self, worker: WorkerHeartbeat) -> SafeString:
        """Alive, leaving, silent (the next sweep decides) or gone."""
        if getattr(worker, "is_alive", False):
            if worker.requested_action:
                return pill("Leaving", tone="warning")
            return pill("Alive", tone="success")
        return pill("Gone") if worker.left_at else pill("Silent", tone="warning")

    serves = Column[WorkerHeartbeat]("queues", lambda row: ", ".join(row.queues) or "its own runs")

    load = Column[WorkerHeartbeat]("runs", lambda row: f"{getattr(row, 'held', 0)} of {row.slots}")

    @admin.display(description="last heartbeat", ordering="beat_at")
    def beat(self, worker: WorkerHeartbeat) -> str:
        """Return the time since the last heartbeat."""
        silence: timedelta = getattr(worker, "silence", timedelta(0))
        return f"{amounts.duration(silence)} ago"
