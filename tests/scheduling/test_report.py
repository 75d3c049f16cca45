"""The whole way: a schedule, a worker, a real language model, and a mail that arrives."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agents.actions.deliver_results import deliver_results
from agents.choices import DeliveryStatus, RunStatus
from agents.models import Agent, Delivery, Run
from scheduling.choices import Kind
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now
from tests.fleet import Worker, wait_until
from tests.mailbox import receiving_mail

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(300)]


def test_a_report_is_written_at_its_time_and_mailed(
    workspace: Workspace,
    agent: Callable[..., Agent],
    planned: Callable[..., Schedule],
    settings: Settings,
) -> None:
    queue = f"{workspace.slug}-report"
    reporter = agent("reporter", queue=queue, model="local:smollm2-135m", max_tokens=60)
    with receiving_mail() as box, Worker(queues=queue):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        plan = planned(
            name="Monday sales report",
            agent=reporter,
            task="Write one short sentence: this week the shop sold 12 bicycles.",
            kind=Kind.ONCE,
            at=database_now() + timedelta(seconds=2),
            deliver=[{"kind": "email", "to": ["ann@example.org"]}],
        )
        ended = Run.objects.filter(workspace=workspace, finished_at__isnull=False)
        wait_until(ended.exists, seconds=120, what="the report was written")
        deliver_results()
    assert Delivery.objects.get(workspace=workspace).status == DeliveryStatus.DELIVERED
    firing = Firing.objects.get(schedule=plan)
    assert firing.run_id is not None
    run = Run.objects.get(pk=firing.run_id)
    assert run.status == RunStatus.SUCCEEDED
    assert run.model.startswith("local:")
    assert run.output_tokens > 0
    # Results that other tests left undelivered are mailed as well.
    [mail] = [one for one in box.mails if one["X-Heartbit-Run"] == str(run.pk)]
    assert mail["To"] == "ann@example.org"
    parts = [part for part in mail.walk() if part.get_content_type() == "text/plain"]
    text = parts[0].get_payload(decode=True)
    assert isinstance(text, bytes)
    assert (run.output or "").strip()[:40] in text.decode()
