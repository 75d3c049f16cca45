"""Heartbit's own notices of the alert rules: mails, audit entries and system events.

A rule is raised once, repeated after a day, and resolved once it has not held for five minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from heartbit_site.base.audit import SYSTEM, record
from heartbit_site.base.models import AlertState, Workspace
from heartbit_site.monitoring.letters import MAIL_AGAIN, MOST_UNSENT, send_letter
from heartbit_site.monitoring.metrics import METRICS
from heartbit_site.monitoring.readings import read_values
from heartbit_site.monitoring.rules import RULES, AlertRule

logger = logging.getLogger(__name__)

REMIND_AFTER: Final = timedelta(days=1)
RESOLVE_AFTER: Final = timedelta(minutes=5)
_LABELS: Final = {metric.name: metric.labels for metric in METRICS}

Values = dict[str, dict[tuple[str, ...], float]]


def send_alerts(now: datetime | None = None) -> int:
    """Evaluate the rules, record what was raised or resolved, and mail it; return the number.

    Safe to run concurrently.

    Args:
        now: Time of the evaluation; None: the present.
    """
    now = now or timezone.now()
    values: Values = {}
    for name, labels, value in read_values():
        values.setdefault(name, {})[tuple(labels)] = float(value)
    sent = _evaluate(values, now)
    _mail(now)
    return sent


@transaction.atomic
def _evaluate(values: Values, now: datetime) -> int:
    AlertState.objects.get_or_create(pk=1)
    state = AlertState.objects.select_for_update(skip_locked=True).filter(pk=1).first()
    if state is None:  # another process evaluates them
        return 0
    slug = settings.HEARTBIT_ALERT_WORKSPACE
    workspace = Workspace.objects.filter(slug=slug).first()
    notices = list(_notices(state, values, now))
    if notices and slug and workspace is None:
        logger.warning("HEARTBIT_ALERT_WORKSPACE names %r, which is no workspace", slug)
    for event, details in notices:
        record(
            SYSTEM,
            event,
            workspace=workspace,
            target=f"alert:{details['alert']}",
            label=details["text"],
            details=details,
        )
    if settings.HEARTBIT_ALERT_MAIL:
        lines = [_line(event, details) for event, details in notices]
        state.unsent = [*state.unsent, *lines][-MOST_UNSENT:]
    state.evaluated_at = now
    state.save(update_fields=["alerts", "readings", "unsent", "evaluated_at"])
    return len(notices)


def _notices(
    state: AlertState, values: Values, now: datetime
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Update the state; yield events with their details."""
    for rule, labels, value in _holding(state, values, now):
        key = _key(rule, labels)
        one = state.alerts.setdefault(key, {"since": now.isoformat()})
        one["held_at"] = now.isoformat()
        one["details"] = {
            "alert": rule.name,
            "text": rule.sentence(labels, value),
            "severity": rule.severity,
            "labels": labels,
            "value": value,
            "since": one["since"],
        }
        is_reminder = "notified_at" in one
        begins, waits = (
            (one["notified_at"], REMIND_AFTER)
            if is_reminder
            else (one["since"], timedelta(minutes=rule.minutes))
        )
        if now - datetime.fromisoformat(begins) >= waits:
            one["notified_at"] = now.isoformat()
            yield "alert.raised", {**one["details"], "reminder": is_reminder}
    for key, one in list(state.alerts.items()):
        silence = now - datetime.fromisoformat(one["held_at"])
        if "notified_at" not in one:
            if silence:
                del state.alerts[key]
        elif silence >= RESOLVE_AFTER:
            del state.alerts[key]
            yield "alert.resolved", one["details"]


def _holding(
    state: AlertState, values: Values, now: datetime
) -> Iterator[tuple[AlertRule, dict[str, str], float]]:
    """Yield the series for which a rule's condition holds, and update the windows."""
    windows: dict[str, list[list[float]]] = {}
    for rule in RULES:
        for series, value in values.get(rule.metric, {}).items():
            labels = dict(zip(_LABELS[rule.metric], series, strict=True))
            if not rule.labels.items() <= labels.items():
                continue
            if rule.compare == "above":
                also = not rule.without or values.get(rule.without, {}).get(series) == 0
                holds = value > rule.above and also
            else:
                key = _key(rule, labels)
                oldest = now.timestamp() - 60 * rule.window_minutes
                window = [one for one in state.readings.get(key, []) if one[0] >= oldest]
                windows[key] = [*window, [now.timestamp(), value]]
                before = [one[1] for one in windows[key]]
                holds = value > min(before) if rule.compare == "rise" else value < max(before)
            if holds:
                yield rule, labels, value
    state.readings = windows


def _key(rule: AlertRule, labels: Mapping[str, str]) -> str:
    return " ".join([rule.name, *(f"{name}={value}" for name, value in labels.items())])


def _line(event: str, details: Mapping[str, Any]) -> str:
    word = "Resolved" if event == "alert.resolved" else "Still" if details["reminder"] else "Raised"
    return f"{word} ({details['severity']}): {details['text']} [{details['alert']}]"


def _mail(now: datetime) -> None:
    """Mail what is unsent; a mail server that is unavailable gets it later."""
    with transaction.atomic():
        state = AlertState.objects.select_for_update().get(pk=1)
        lines = state.unsent
        if not lines or state.mail_at > now:
            return
        state.mail_at = now + MAIL_AGAIN
        state.save(update_fields=["mail_at"])
    if not send_letter(lines, settings.HEARTBIT_ALERT_MAIL):
        return
    with transaction.atomic():
        state = AlertState.objects.select_for_update().get(pk=1)
        state.unsent = [one for one in state.unsent if one not in lines]
        state.mail_at = now
        state.save(update_fields=["unsent", "mail_at"])
