"""The pages of a run's past: any turn, and the form that forks the run after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from agents.actions.fork_run import fork_run
from agents.admin import words
from agents.admin.turns import ForkForm, TurnPage, read
from agents.loop.past import TurnNotFoundError
from agents.models import Run
from heartbit_site.base.access import visible_to
from heartbit_site.base.admin.trail import actor_of
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.admin import AdminSite
    from django.urls import URLPattern


class TravelPages:
    """A part of the run's admin class."""

    admin_site: AdminSite
    may: Callable[..., bool]  # ``Scoped``'s

    def get_urls(self) -> list[URLPattern]:
        """The addresses of turns and forks beside the class's own."""
        view = self.admin_site.admin_view
        own = [
            path("<uuid:run_pk>/turn/<int:number>/", view(self.turn), name="agents_run_turn"),
            path("<uuid:run_pk>/fork/<int:number>/", view(self.fork), name="agents_run_fork"),
        ]
        return [*own, *super().get_urls()]  # type: ignore[misc]  # the next class's

    def turn(self, request: HttpRequest, run_pk: Any, number: int) -> HttpResponse:
        """One turn: what the model was sent, what it answered, what its calls gave."""
        run = self._run(request, run_pk)
        page = _page(run, number)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Turn {number}",
            "page": page,
            "short": words.short(run.pk),
            "before": number - 1,
            "after": number + 1 if number < page.turn["turn_count"] else 0,
            "may_fork": self.may(request, "fork", run),
        }
        return render(request, "admin/agents/run/turn.html", context)

    def fork(self, request: HttpRequest, run_pk: Any, number: int) -> HttpResponse:
        """Ask what is different, then fork and show the new run; turn 0 is the task alone."""
        run = self._run(request, run_pk)
        if not self.may(request, "fork", run):
            raise PermissionDenied
        page = _page(run, number) if number else None
        form = ForkForm(run, page, request.POST if request.method == "POST" else None)
        problem = ""
        if request.method == "POST":
            if form.is_valid():
                try:
                    made = fork_run(run, number, edits=form.edits(), by=actor_of(request))
                except HeartbitError as error:
                    problem = str(error)
                else:
                    messages.success(request, f"Forked after turn {number}: this is the new run.")
                    return redirect("admin:agents_run_change", made)
            else:
                problem = " ".join(str(said) for each in form.errors.values() for said in each)
        calls = page.calls if page is not None else []
        context = {
            **self.admin_site.each_context(request),
            "title": f"Fork after turn {number}" if number else "Fork from the task",
            "run": run,
            "turn": number,
            "short": words.short(run.pk),
            "form": form,
            "calls": calls,
            "instead": request.POST.get("instead", ""),
            "effects": [f"{c['call_id']} {c['tool']}" for c in calls if c["effect"] != "pure"],
            "problem": problem,
        }
        return render(request, "admin/agents/run/fork.html", context)

    def _run(self, request: HttpRequest, run_pk: Any) -> Run:
        if not self.may(request, "view"):
            raise PermissionDenied
        runs = Run.objects.select_related("version__agent", "workspace")
        run = visible_to(runs, request.user).filter(pk=run_pk).first()
        if run is None:
            raise Http404
        return run


def _page(run: Run, number: int) -> TurnPage:
    try:
        return read(run, number)
    except TurnNotFoundError as error:
        raise Http404(str(error)) from error
