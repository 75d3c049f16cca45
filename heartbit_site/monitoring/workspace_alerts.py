"""Evaluation of the alerts of workspaces: one notice per breach, and one at its end.

A notice is an audit entry in the alert's transaction, and so a system event that webhooks receive;
it is mailed afterwards to the alert's addresses.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from django.db import transaction
from django.utils import timezone

from agents.choices import Comparison, HealthFigure
from agents.models import WorkspaceAlert
from agents.reads.health import HealthReport, read_health
from heartbit_site.base.amounts import duration, money
from heartbit_site.base.audit import SYSTEM, record
from heartbit_site.monitoring.letters import MAIL_AGAIN, MOST_UNSENT, send_letter

_DELAYS: Final = (HealthFigure.QUEUE_DELAY_P50, HealthFigure.QUEUE_DELAY_P95)


def send_workspace_alerts(now: datetime | None = None) -> int:
    """Evaluate all alerts, record what was raised or resolved, and mail it; return the number.

    Safe to run concurrently: an alert that another process evaluates is left out.

    Args:
        now: Time of the evaluation; None: the present.
    """
    now = now or timezone.now()
    known: dict[tuple[int, int], HealthReport] = {}
    rows = WorkspaceAlert.objects.filter(enabled=True).order_by("workspace", "window_minutes", "pk")
    sent = 0
    for pk, workspace, minutes in rows.values_list("pk", "workspace", "window_minutes"):
        key = (workspace, minutes)
        if key not in known:
            known = {key: read_health(workspace, timedelta(minutes=minutes), now)}
        sent += _evaluate(pk, known[key], now)
    for pk in WorkspaceAlert.objects.exclude(unsent=[]).values_list("pk", flat=True):
        _mail(pk, now)
    return sent


def figure_text(figure: str, value: float) -> str:
    """Return a value of a figure for people, with its unit."""
    if figure in _DELAYS:
        return duration(value)
    if figure == HealthFigure.COST:
        return money(Decimal(value))
    return f"{value:,.1f} %" if figure == HealthFigure.FAILURE_RATE else f"{value:,.0f}"


@transaction.atomic
def _evaluate(pk: int, health: HealthReport, now: datetime) -> int:
    rows = WorkspaceAlert.objects.select_for_update(skip_locked=True, of=("self",))
    alert = rows.select_related("workspace").filter(pk=pk, enabled=True).first()
    if alert is None:
        return 0
    alert.value = health.figures[alert.figure]
    holds = alert.value is not None and _breaches(alert, alert.value)
    since, is_news = alert.raised_at, holds != (alert.raised_at is not None)
    if is_news:
        alert.raised_at = now if holds else None
        _notify(alert, since or now, holds=holds)
    alert.save(update_fields=["value", "raised_at", "unsent"])
    return int(is_news)


def _breaches(alert: WorkspaceAlert, value: float) -> bool:
    threshold = float(alert.threshold)
    return value > threshold if alert.comparison == Comparison.ABOVE else value < threshold


def _notify(alert: WorkspaceAlert, since: datetime, *, holds: bool) -> None:
    """Record a notice, and keep it for the mail."""
    now = "there is nothing to measure"
    if alert.value is not None:
        now = f"it is {figure_text(alert.figure, alert.value)}"
    limit = figure_text(alert.figure, float(alert.threshold))
    figure = HealthFigure(alert.figure).label
    is_or_was = "is" if holds else "is no longer"
    text = (
        f"{figure} of {alert.workspace.slug} {is_or_was} {alert.comparison} {limit}: {now} over "
        f"the last {duration(timedelta(minutes=alert.window_minutes))}."
    )
    details = {
        "alert": f"{alert.figure}:{alert.pk}",
        "text": text,
        "severity": "warning",
        "labels": {"figure": alert.figure, "workspace": alert.workspace.slug},
        "value": alert.value,
        "since": since.isoformat(),
    }
    record(
        SYSTEM,
        "alert.raised" if holds else "alert.resolved",
        workspace=alert.workspace,
        target=f"alert:{alert.pk}",
        label=text,
        details=details,
    )
    if alert.mail_to:
        word = "Raised" if holds else "Resolved"
        alert.unsent = [*alert.unsent, f"{word}: {text}"][-MOST_UNSENT:]


def _mail(pk: int, now: datetime) -> None:
    """Mail what is unsent; a mail server that is unavailable gets it later."""
    with transaction.atomic():
        rows = WorkspaceAlert.objects.select_for_update(skip_locked=True)
        alert = rows.filter(pk=pk, mail_at__lte=now).first()
        if alert is None or not alert.unsent:
            return
        lines, to = alert.unsent, [one.strip() for one in alert.mail_to.split(",") if one.strip()]
        alert.mail_at = now + MAIL_AGAIN
        alert.save(update_fields=["mail_at"])
    if to and not send_letter(lines, to):
        return
    with transaction.atomic():
        alert = WorkspaceAlert.objects.select_for_update().filter(pk=pk).first()
        if alert is not None:
            alert.unsent = [one for one in alert.unsent if one not in lines]
            alert.mail_at = now
            alert.save(update_fields=["unsent", "mail_at"])
