"""Heartbit's own notices: raised once, repeated after a day, resolved once, by real SMTP."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from agents.actions.runs import cancel_run
from agents.housekeeping.beat import BEAT_SCHEDULE
from agents.housekeeping.scheduler_thread import alerts_are_overdue
from agents.models import WebhookDelivery, WebhookEndpoint
from agents.runs.webhook_events import create_webhook_deliveries
from agents.system_events.types import AlertEventData
from heartbit_site.base.models import AlertState, AuditEntry
from heartbit_site.celery import app
from heartbit_site.monitoring.alerts import RESOLVE_AFTER, send_alerts
from heartbit_site.monitoring.letters import MAIL_AGAIN
from heartbit_site.monitoring.rules import RULES
from tests.delivery.conftest import mailbox, smtp
from tests.monitoring.test_metrics import QUEUE, queued

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.mailbox import Mailbox

__all__ = ["mailbox", "smtp"]
pytestmark = pytest.mark.django_db
RULE = "HeartbitQueueWithoutWorker"


@pytest.fixture
def stuck(workspace: Workspace, settings: Settings) -> UUID:
    """A run that no worker serves; what else is wrong in the test's database was told before."""
    settings.HEARTBIT_ALERT_WORKSPACE = workspace.slug
    now = timezone.now()
    for hours in (3, 2):
        send_alerts(now - timedelta(hours=hours))
    return queued(workspace)


def told(workspace: Workspace) -> list[tuple[str, bool]]:
    rows = AuditEntry.objects.filter(chain=workspace.pk, target=f"alert:{RULE}").order_by("number")
    here = [row for row in rows if row.details["labels"] == {"queue": QUEUE}]
    return [(row.action, bool(row.details.get("reminder"))) for row in here]


def mails(box: Mailbox) -> list[str]:
    found = "\n".join(str(mail.get_payload()) for mail in box.mails).splitlines()
    return [line.split(" (")[0] for line in found if QUEUE in line]


def later(now: datetime, **span: float) -> datetime:
    return now + timedelta(**span)


def test_given_a_queue_without_worker_then_it_is_told_once_a_day_and_when_it_is_over(
    workspace: Workspace, stuck: UUID, mailbox: Mailbox, settings: Settings
) -> None:
    settings.HEARTBIT_ALERT_MAIL = ("ops@x.example",)
    now = timezone.now()
    send_alerts(now)
    assert told(workspace) == [], "it may be over in a minute"
    send_alerts(later(now, minutes=2))
    send_alerts(later(now, minutes=3))
    assert told(workspace) == [("alert.raised", False)]
    assert mails(mailbox) == ["Raised"]
    assert mailbox.taken_for == ["ops@x.example"]
    send_alerts(later(now, hours=23))
    assert len(told(workspace)) == 1
    send_alerts(later(now, hours=24, minutes=2))
    send_alerts(later(now, hours=24, minutes=3))
    assert told(workspace)[1:] == [("alert.raised", True)]
    cancel_run(workspace, stuck, reason="no")
    over = later(now, hours=25)
    send_alerts(over - RESOLVE_AFTER)
    send_alerts(over)
    send_alerts(later(over, minutes=1))
    assert told(workspace)[2:] == [("alert.resolved", False)]
    assert mails(mailbox) == ["Raised", "Still", "Resolved"]
    for row in AuditEntry.objects.filter(chain=workspace.pk, action__startswith="alert."):
        AlertEventData.model_validate(row.details)


def test_given_a_mail_server_that_fails_then_the_mail_goes_out_later(
    workspace: Workspace, stuck: UUID, mailbox: Mailbox, settings: Settings
) -> None:
    settings.HEARTBIT_ALERT_MAIL = ("ops@x.example",)
    settings.EMAIL_PORT, port = 1, settings.EMAIL_PORT
    now = timezone.now()
    for minutes in (0, 2):
        send_alerts(later(now, minutes=minutes))
    assert mails(mailbox) == []
    settings.EMAIL_PORT = port
    send_alerts(later(now, minutes=2) + MAIL_AGAIN)
    send_alerts(later(now, minutes=3) + MAIL_AGAIN)
    assert mails(mailbox) == ["Raised"]


def test_given_a_webhook_then_the_alert_is_sent_to_it(workspace: Workspace, stuck: UUID) -> None:
    endpoint = WebhookEndpoint.objects.create(
        workspace=workspace, name="x", url="https://127.0.0.1/", events=["alert.*"]
    )
    now = timezone.now()
    for minutes in (0, 2):
        send_alerts(later(now, minutes=minutes))
    create_webhook_deliveries(endpoint)
    found = [row.payload for row in WebhookDelivery.objects.filter(endpoint=endpoint)]
    [payload] = [one for one in found if one["data"]["labels"] == {"queue": QUEUE}]
    assert payload["type"] == "alert.raised"
    assert payload["data"]["text"] == RULES[1].sentence({"queue": QUEUE}, 1)


def test_given_a_delivery_that_fails_then_the_rise_is_told(workspace: Workspace) -> None:
    now = timezone.now()
    endpoint = WebhookEndpoint.objects.create(
        workspace=workspace, name="x", url="https://127.0.0.1/"
    )
    send_alerts(now)
    WebhookDelivery.objects.create(
        endpoint=endpoint, event="x", event_key="x", message_id="x", status="failed", payload={}
    )
    send_alerts(later(now, minutes=1))
    key = "HeartbitDeliveriesFailed kind=webhook"
    assert "notified_at" in AlertState.objects.get().alerts[key]
    send_alerts(later(now, minutes=5))
    assert key in AlertState.objects.get().alerts
    send_alerts(later(now, minutes=12))
    assert key not in AlertState.objects.get().alerts


def test_the_rules_are_evaluated_each_minute_with_beat_and_without() -> None:
    entry = BEAT_SCHEDULE["heartbit-send-alerts"]
    app.loader.import_default_modules()
    assert entry["task"] in app.tasks
    assert entry["schedule"] == 60
    AlertState.objects.all().delete()
    assert not alerts_are_overdue(180), "a new installation"
    AlertState.objects.update(evaluated_at=timezone.now() - timedelta(minutes=4))
    assert alerts_are_overdue(180)
