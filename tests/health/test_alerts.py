"""Alerts of workspaces: once per breach, once at its end, by event and by mail."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from agents.actions.alerts import remove_alert, save_alert
from agents.models import Agent, Run, WorkspaceAlert
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import AuditEntry
from heartbit_site.monitoring.workspace_alerts import send_workspace_alerts
from tests.delivery.conftest import mailbox, smtp
from tests.health.filled import fill
from tests.monitoring.test_metrics import queued

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.mailbox import Mailbox

__all__ = ["mailbox", "smtp"]
pytestmark = pytest.mark.django_db


def planned(workspace: Workspace, **fields: object) -> WorkspaceAlert:
    usual = {"figure": "runs", "threshold": Decimal(5), "window_minutes": 60}
    row = WorkspaceAlert(**{"workspace": workspace} | usual | fields)
    save_alert(row, by=SYSTEM)
    return row


def told(workspace: Workspace) -> list[str]:
    rows = AuditEntry.objects.filter(
        chain=workspace.pk, action__in=["alert.raised", "alert.resolved"]
    )
    return list(rows.order_by("number").values_list("action", flat=True))


def work(workspace: Workspace) -> None:
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, 10_000)


def test_given_a_breach_then_it_is_told_once_and_its_end_once(
    workspace: Workspace, mailbox: Mailbox
) -> None:
    alert = planned(workspace, mail_to="ops@x.example")
    now = timezone.now()
    send_workspace_alerts(now)
    assert told(workspace) == []
    work(workspace)
    for minutes in (0, 1, 2):
        send_workspace_alerts(now + timedelta(minutes=minutes))
    assert told(workspace) == ["alert.raised"]
    assert mailbox.taken_for == ["ops@x.example"]
    assert "Runs of" in mailbox.mails[0]["Subject"]
    alert.refresh_from_db()
    assert alert.raised_at is not None
    assert (alert.value or 0) > 5
    for hours in (3, 4):
        send_workspace_alerts(now + timedelta(hours=hours))
    assert told(workspace) == ["alert.raised", "alert.resolved"]
    assert len(mailbox.mails) == 2
    assert WorkspaceAlert.objects.filter(pk=alert.pk, raised_at=None, unsent=[]).exists()


def test_given_a_mail_server_that_is_away_then_the_notice_is_mailed_later(
    workspace: Workspace, mailbox: Mailbox, settings: Settings
) -> None:
    planned(workspace, mail_to="ops@x.example")
    work(workspace)
    now, port = timezone.now(), settings.EMAIL_PORT
    settings.EMAIL_PORT = 1
    send_workspace_alerts(now)
    settings.EMAIL_PORT = port
    send_workspace_alerts(now + timedelta(minutes=1))
    assert mailbox.mails == []
    send_workspace_alerts(now + timedelta(minutes=6))
    assert len(mailbox.mails) == 1


def test_given_a_run_that_no_worker_takes_then_the_delay_is_breached(workspace: Workspace) -> None:
    run = queued(workspace, "q-of-health")
    planned(workspace, figure="queue_delay_p95", threshold=Decimal(60))
    hour_ago = timezone.now() - timedelta(minutes=30)
    Run.objects.filter(pk=run).update(created_at=hour_ago, available_at=hour_ago)
    send_workspace_alerts()
    assert told(workspace) == ["alert.raised"]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"figure": "weather"}, "figure"),
        ({"comparison": "near"}, "comparison"),
        ({"threshold": Decimal(-1)}, "threshold"),
        ({"window_minutes": 1}, "window_minutes"),
        ({"mail_to": "ann"}, "mail_to"),
        ({"mail_to": ",".join(f"a{n}@example.org" for n in range(11))}, "mail_to"),
    ],
)
def test_given_a_value_that_is_not_valid_then_the_error_names_its_field(
    workspace: Workspace, fields: dict[str, object], where: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        planned(workspace, **fields)
    assert refused.value.field == where


def test_given_too_many_alerts_then_one_more_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.actions.alerts.MOST", 1)
    alert = planned(workspace)
    with pytest.raises(ConflictError, match="limit"):
        planned(workspace)
    remove_alert(alert, by=SYSTEM)
    planned(workspace)
