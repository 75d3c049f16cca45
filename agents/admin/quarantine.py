"""Retry, resume and discard on a run's page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from agents.actions.discard_run import discard_run
from agents.actions.retry_run import retry_run
from agents.actions.revive_run import revive_run
from agents.choices import TERMINAL, RunStatus
from heartbit_site.base.admin.themed import DialogForm, dialog
from heartbit_site.base.admin.trail import actor_of
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.models import Run


class QuarantineActions:
    """Mixed into the runs' admin."""

    settling = ("retry", "revive", "discard")

    def has_settle_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may cancel runs."""
        this: Any = self
        return bool(this.may(request, "settle", object_id))

    def offered_settling(self, run: Run | None) -> set[str]:
        """Those that do something now."""
        if run is None or run.status not in TERMINAL:
            return set()
        return set(self.settling) if run.status == RunStatus.QUARANTINED else {"retry"}

    @dialog(
        DialogForm,
        label="Retry",
        explanation=(
            "The same task, on the same version, as a new run from the beginning. "
            "A quarantined run is discarded with it."
        ),
        submit="Retry",
        icon="replay",
        permissions=["settle"],
    )
    def retry(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Start the new run and go to its page."""
        act = partial(retry_run, by=actor_of(request))
        return self._settle(request, object_id, act, "This run does the task again.")

    @dialog(
        DialogForm,
        label="Resume",
        explanation="It goes on where it was, alone in a process, where it harms no other run.",
        submit="Resume",
        icon="resume",
        permissions=["settle"],
    )
    def revive(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Queue it, and show it."""
        act = partial(revive_run, by=actor_of(request))
        return self._settle(request, object_id, act, "The run goes on, alone.")

    @dialog(
        DialogForm,
        label="Discard",
        explanation="It is cancelled, and nobody is asked about it any more. Its journal stays.",
        submit="Discard",
        icon="delete_sweep",
        permissions=["settle"],
        variant="DANGER",
    )
    def discard(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Cancel it, and show it."""
        act = partial(discard_run, by=actor_of(request))
        return self._settle(request, object_id, act, "The run is discarded.")

    def _settle(
        self, request: HttpRequest, object_id: str, act: Callable[[Run], UUID | None], done: str
    ) -> HttpResponse:
        this: Any = self
        run: Run | None = this.get_object(request, object_id)
        shown: object = object_id
        if run is not None:
            try:
                shown = act(run) or object_id
            except HeartbitError as refused:
                messages.error(request, str(refused))
            else:
                messages.success(request, done)
        return HttpResponse(
            headers={"HX-Redirect": reverse("admin:agents_run_change", args=[shown])}
        )
