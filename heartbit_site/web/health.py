"""Health: figures of a span, errors by sentence, agents by model, workers' lives, and alerts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.actions.alerts import remove_alert, save_alert
from agents.choices import HealthFigure, RunStatus
from agents.models import Run, WorkspaceAlert
from agents.reads.health import SPANS, Pair, recent_health
from agents.reads.lifelines import Lifeline, read_lifelines
from heartbit_site.base import amounts
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.monitoring.workspace_alerts import figure_text
from heartbit_site.web.charts import Chart, Mark, Rect
from heartbit_site.web.page import asked_action, page, show

if TYPE_CHECKING:
    _AlertForm = forms.ModelForm[WorkspaceAlert]
else:
    _AlertForm = forms.ModelForm

SPAN_TITLES: Final = {"1h": "1 hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
USUAL: Final = "24h"
#: Titles of the figures whose values name their unit.
TITLES: Final = {HealthFigure.FAILURE_RATE: "Failure rate", HealthFigure.COST: "Cost"}
#: Width of the lifelines in their own coordinates; they are scaled to the available width.
WIDTH: Final = 1_000


def tabs(access: Access) -> list[tuple[str, str, str]]:
    """Return the tabs of Health that a member may open: name, title and address."""
    known = [("figures", "Figures", "web:health")]
    if access.allows("fleet:manage"):
        known.append(("fleet", "Workers and queues", "web:health-fleet"))
    known += [("usage", "Usage", "web:health-usage"), ("alerts", "Alerts", "web:health-alerts")]
    return [
        (name, title, reverse(route, args=[access.workspace.slug])) for name, title, route in known
    ]


def chosen_span(request: HttpRequest) -> str:
    """Return the span that the address names; 24 hours without one."""
    span = request.GET.get("range", USUAL)
    return span if span in SPANS else USUAL


@page("runs:read")
def health(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the figures of the span that the address names."""
    span = chosen_span(request)
    found = recent_health(access.workspace.pk, span)
    listed = reverse("web:runs", args=[access.workspace.slug])
    alerts = WorkspaceAlert.objects.filter(workspace=access.workspace, raised_at__isnull=False)
    context = {
        "tabs": tabs(access),
        "tab": "figures",
        "quarantined": Run.objects.filter(
            workspace=access.workspace, status=RunStatus.QUARANTINED
        ).count(),
        "listed": listed,
        "span": span,
        "spans": SPAN_TITLES.items(),
        "figures": [
            (
                TITLES.get(HealthFigure(name), HealthFigure(name).label),
                "-" if value is None else figure_text(name, value),
            )
            for name, value in found.figures.items()
        ],
        "unpriced": amounts.counted(found.unpriced, "call") if found.unpriced else "",
        "errors": found.errors,
        "failed": f"{listed}?status=failed",
        "pairs": [_row(pair, listed) for pair in found.pairs],
        "raised": alerts,
    }
    return show(request, access, "web/health.html", context, here="health")


def _row(pair: Pair, listed: str) -> dict[str, Any]:
    unpriced = f" + {amounts.counted(pair.unpriced, 'call')} unpriced" if pair.unpriced else ""
    return {
        "agent": pair.agent,
        "model": pair.model,
        "link": f"{listed}?{urlencode({'agent': pair.agent})}",
        "runs": f"{pair.runs:,}",
        "failed": f"{pair.failed:,}" if pair.failed else "-",
        "median": "-" if pair.median is None else amounts.duration(pair.median),
        "slow": "-" if pair.slow is None else amounts.duration(pair.slow),
        "tokens": f"{pair.tokens:,}",
        "cost": amounts.money(pair.cost) + unpriced,
    }


def drawn_lifelines(span: str) -> dict[str, Any]:
    """Return the workers' lives in a span for ``health_lifelines.html``."""
    now = timezone.now()
    length, lines = SPANS[span], read_lifelines(SPANS[span], now)
    return {
        "lines": [_drawn(line, now - length, length) for line in lines],
        "since": now - length,
        "died": sum(line.died for line in lines),
    }


def _drawn(line: Lifeline, since: datetime, length: timedelta) -> dict[str, Any]:
    def place(moment: datetime) -> float:
        return min(1.0, max(0.0, (moment - since) / length)) * WIDTH

    end = line.ended or since + length
    x, right = min(place(line.began), WIDTH - 3.0), place(end)
    lived = amounts.duration(end - line.began)
    state = "died" if line.died else "left" if line.ended else "alive"
    said = f"{line.name}: {state} after {lived}" if line.ended else f"{line.name}: {lived}"
    rects = [Rect("lived", x, 3, max(3.0, right - x), 6)]
    if line.died:
        rects.append(Rect("death", max(x + 3, right) - 3, 0, 5, 12))
    drawn = Chart(f"life {state}", WIDTH, 12, said, (Mark(said, tuple(rects)),))
    return {"line": line, "state": state, "lived": lived, "drawn": drawn}


class AlertPageForm(_AlertForm):
    """A threshold, its window, and who gets mail."""

    figure = forms.ChoiceField(choices=[("", "Choose a figure"), *HealthFigure.choices])

    class Meta:
        model = WorkspaceAlert
        fields = ("figure", "comparison", "threshold", "window_minutes", "mail_to", "enabled")
        widgets: Final = {
            "threshold": forms.NumberInput({"step": "any"}),
            "mail_to": forms.TextInput({"placeholder": "ann@example.org"}),
        }


@never_cache
@require_http_methods(["GET", "POST"])
@page("runs:read")
def alerts(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the alerts and, to editors, their form."""
    stored = WorkspaceAlert.objects.filter(workspace=access.workspace)
    rows = list(stored)
    number = request.POST.get("id") or request.GET.get("alert", "")
    chosen = next((row for row in rows if str(row.pk) == number), None)
    row = chosen or WorkspaceAlert(workspace=access.workspace)
    writes = access.allows("agents:write")
    form = AlertPageForm(request.POST or None, instance=row)
    if request.method == "POST" and _is_changed(request, access, form, chosen):
        return redirect(request.path)
    context = {
        "tabs": tabs(access),
        "tab": "alerts",
        # As stored: a form that is not valid has changed one of the others.
        "alerts": [(one, _measured(one)) for one in (stored.all() if rows else ())],
        "form": form if writes else None,
        "chosen": chosen,
    }
    status = 409 if request.method == "POST" else 200
    return show(request, access, "web/health_alerts.html", context, here="health", status=status)


def _measured(alert: WorkspaceAlert) -> str:
    return "-" if alert.value is None else figure_text(alert.figure, alert.value)


def _is_changed(
    request: HttpRequest, access: Access, form: AlertPageForm, chosen: WorkspaceAlert | None
) -> bool:
    """Perform the requested verb; return False if the form says what is wrong."""
    by = actor_of(access)
    try:
        if asked_action(request, "save", "remove") == "remove":
            if chosen is not None:
                remove_alert(chosen, by=by)
                messages.success(request, f"The alert {chosen} is deleted.")
            return True
        if not form.is_valid():
            return False
        saved = form.save(commit=False)
        save_alert(saved, by=by)
    except HeartbitError as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return False
    messages.success(request, f"The alert {saved} is saved: it is evaluated within a minute.")
    return True
