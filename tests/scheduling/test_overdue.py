"""Deliveries go out without Beat: the clocks of the workers ring for what is overdue."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agents.actions.channels import save_channel
from agents.actions.quotas import save_budget
from agents.actions.webhooks import save_webhook
from agents.choices import DeliveryStatus
from agents.delivery.webhooks import new_message_id
from agents.housekeeping.scheduler_thread import (
    PendingQuotaNotices,
    documents_are_overdue,
    enqueue_overdue,
    results_are_overdue,
    webhooks_are_overdue,
)
from agents.inbound.channels import mailboxes_are_overdue
from agents.models import Agent, Budget, Channel, Delivery, Run, WebhookDelivery, WebhookEndpoint
from heartbit_site.base import queues
from heartbit_site.base.audit import SYSTEM
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.models import Document
from scheduling.querysets import database_now
from tests.delivery.conftest import alone
from tests.delivery.orders import ended, ordered, row_of
from tests.fleet import wait_until
from tests.quotas.limited import told

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace

__all__ = ["alone"]

KEPT = {"kind": "artifact", "name": "sales"}
MINUTE = timedelta(minutes=1)


def pass_a_minute(run: UUID) -> None:
    """Let the run have ended a minute ago, with nobody looking since."""
    before = database_now() - MINUTE
    Delivery.objects.filter(run_id=run).update(next_at=before)
    Run.objects.filter(pk=run, finished_at__isnull=False).update(finished_at=before)


@pytest.mark.usefixtures("worker")
def test_given_no_beat_then_results_go_out_and_webhooks_are_looked_for(
    workspace: Workspace,
) -> None:
    endpoint = WebhookEndpoint(
        workspace=workspace, name="hook", url="https://127.0.0.1/", events=["run.failed"]
    )
    save_webhook(endpoint, by=SYSTEM)
    # The test works on its run itself.
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    run = ended(workspace, [KEPT])
    webhook = WebhookEndpoint.objects.filter(pk=endpoint.pk)
    webhook.update(events_from=database_now() - MINUTE, last_polled_at=None)
    pass_a_minute(run.pk)
    wait_until(lambda: row_of(run).status == DeliveryStatus.DELIVERED, what="delivered")
    wait_until(lambda: webhook.get().last_polled_at is not None, what="looked for")
    webhook.update(enabled=False)


@pytest.mark.usefixtures("worker")
def test_given_no_beat_then_a_quota_that_is_nearly_used_up_is_told_of(
    workspace: Workspace,
) -> None:
    row = Budget(workspace=workspace, period="day", max_tokens=100)
    save_budget(row)
    Budget.objects.filter(pk=row.pk).update(spent_tokens=90)
    untold = PendingQuotaNotices()
    assert not untold.are_overdue(30, now=time.monotonic() - 60), "it was seen just then"
    assert queues.SEND_QUOTA_NOTICES in enqueue_overdue(untold)
    wait_until(lambda: told(workspace), what="told of")
    assert not untold.are_overdue(30, now=time.monotonic())


@pytest.mark.django_db
class TestOverdue:
    def test_only_what_has_ended_and_waits_for_nobody_else_is_overdue(
        self, alone: Workspace
    ) -> None:
        live = ordered(alone, [KEPT]).id
        pass_a_minute(live)
        assert not results_are_overdue(30), "its run goes on"
        run = ended(alone, [KEPT])
        assert not results_are_overdue(30), "it has just ended"
        pass_a_minute(run.pk)
        assert results_are_overdue(30)
        assert not results_are_overdue(90)
        Delivery.objects.filter(run_id=run.pk).update(status=DeliveryStatus.DELIVERED)
        assert not results_are_overdue(30)

    def test_a_document_that_waits_and_that_nobody_reads_is_overdue(self, alone: Workspace) -> None:
        base, _ = save_base(alone, "handbook", description="", by=SYSTEM)
        save_document(base, "a.md", b"Text.", by=SYSTEM)
        assert not documents_are_overdue(30), "a worker has just been sent a message"
        row = Document.objects.filter(base=base)
        row.update(touched_at=database_now() - MINUTE)
        assert documents_are_overdue(30)
        row.update(claimed_until=database_now() + MINUTE)
        assert not documents_are_overdue(30), "a worker reads it"

    def test_what_is_with_a_webhook_waits_for_it(self, alone: Workspace) -> None:
        run = ended(alone, [KEPT])
        pass_a_minute(run.pk)
        endpoint = WebhookEndpoint(workspace=alone, name="x", url="https://x.example", events=[])
        endpoint.save()
        told = WebhookDelivery.objects.create(
            endpoint=endpoint,
            run_id=run.pk,
            event="x",
            event_key="x",
            payload={},
            message_id=new_message_id(),
        )
        Delivery.objects.filter(run_id=run.pk).update(message_id=told.message_id)
        assert not results_are_overdue(30)
        WebhookDelivery.objects.filter(pk=told.pk).update(status=DeliveryStatus.DELIVERED)
        assert results_are_overdue(30), "somebody has to note that it arrived"

    def test_a_mailbox_is_overdue_that_nobody_looked_into(self, alone: Workspace) -> None:
        Channel.objects.update(enabled=False)
        made = Channel(workspace=alone, name="x", kind="email", agent="writer", senders=["*"])
        made.imap_host, made.imap_user = "imap.example.org", "support"
        save_channel(made, password="x", by=SYSTEM)
        found = Channel.objects.filter(pk=made.pk)
        assert mailboxes_are_overdue(database_now(), 120), "nobody ever did"
        found.update(last_polled_at=database_now() - MINUTE)
        assert not mailboxes_are_overdue(database_now(), 120)
        assert mailboxes_are_overdue(database_now(), 30)
        found.update(enabled=False)
        assert not mailboxes_are_overdue(database_now(), 30)

    def test_a_webhook_is_overdue_by_the_last_look_if_it_is_enabled(self, alone: Workspace) -> None:
        before = database_now() - MINUTE
        made = WebhookEndpoint.objects.create(
            workspace=alone, name="x", url="https://x.example", events=[], events_from=before
        )
        assert webhooks_are_overdue(30)
        assert not webhooks_are_overdue(90)
        found = WebhookEndpoint.objects.filter(pk=made.pk)
        found.update(last_polled_at=database_now())
        assert not webhooks_are_overdue(30)
        found.update(last_polled_at=before, enabled=False)
        assert not webhooks_are_overdue(30)
