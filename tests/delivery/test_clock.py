"""Leases and retries by the database's clock: that of a worker may be wrong."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from agents.actions.deliver_results import LEASE_SECONDS, deliver_results
from agents.actions.deliver_webhooks import deliver_webhooks
from agents.actions.redeliver import ping_webhook, redeliver_result, redeliver_webhook
from agents.actions.webhooks import save_webhook
from agents.delivery.webhooks import RETRY_AFTER
from agents.models import WebhookDelivery, WebhookEndpoint
from heartbit_site.base.audit import SYSTEM
from scheduling.querysets import database_now
from tests.delivery.orders import ADA, ended, row_of
from tests.delivery.test_webhook import hook, to

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from heartbit_site.base.models import Workspace
    from tests.mailbox import Mailbox
    from tests.web.receiver import Receiver

pytestmark = pytest.mark.django_db
EVE = "eve@example.org"
WRONG = [timedelta(hours=-1), timedelta(hours=1)]
SOON = timedelta(seconds=20)
right = timezone.now


@contextmanager
def clock(wrong: timedelta) -> Iterator[None]:
    """This process's clock goes wrong by so much; the database's does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: right() + wrong)
        yield


def about(moment: datetime | None, expected: timedelta) -> bool:
    """Whether it is so far from the database's present."""
    assert moment is not None
    return abs(moment - database_now() - expected) < SOON


@pytest.mark.parametrize("wrong", WRONG)
def test_given_a_wrong_clock_then_a_mail_is_leased_for_as_long(
    alone: Workspace, mailbox: Mailbox, wrong: timedelta
) -> None:
    run = ended(alone, [{"kind": "email", "to": [ADA, EVE]}])
    with clock(wrong):
        assert deliver_results() == 1
    assert mailbox.taken_for == [ADA, EVE]
    row = row_of(run)
    assert about(row.next_at, timedelta(seconds=LEASE_SECONDS)), "renewed with the last copy"
    assert about(row.delivered_at, timedelta())


@pytest.mark.parametrize("wrong", WRONG)
def test_given_a_wrong_clock_then_a_mail_is_tried_again_when_it_should(
    alone: Workspace, mailbox: Mailbox, wrong: timedelta
) -> None:
    run = ended(alone)
    mailbox.answers[ADA] = ["451 4.2.0 later"]
    with clock(wrong):
        assert deliver_results() == 0
    assert about(row_of(run).next_at, RETRY_AFTER[0])


@pytest.mark.parametrize("wrong", WRONG)
def test_given_a_wrong_clock_then_a_webhook_is_told_and_tried_again_when_it_should(
    alone: Workspace, receiver: Receiver, wrong: timedelta
) -> None:
    endpoint, _ = hook(alone, receiver)
    receiver.answers = [500]
    run = ended(alone, to(endpoint))
    with clock(wrong):
        deliver_results()
        assert deliver_webhooks() == 0
    [told] = WebhookDelivery.objects.filter(endpoint=endpoint)
    assert told.attempts == 1, "it was due at once"
    assert about(told.next_at, RETRY_AFTER[0])
    WebhookDelivery.objects.update(next_at=database_now())
    with clock(wrong):
        assert deliver_webhooks() == 1
        assert deliver_results() == 1
        told.refresh_from_db()
        assert about(told.delivered_at, timedelta())
        redeliver_result(row_of(run), by=SYSTEM)
        assert deliver_webhooks() == 1, "due at once"
        told.refresh_from_db()
        redeliver_webhook(told, by=SYSTEM)
        assert about(told.next_at, timedelta())
        pinged = ping_webhook(endpoint, by=SYSTEM)
        assert about(pinged.next_at, timedelta())
        assert deliver_webhooks() == 2


@pytest.mark.parametrize("wrong", WRONG)
def test_given_a_wrong_clock_then_an_enabled_webhook_is_told_from_now_on(
    alone: Workspace, receiver: Receiver, wrong: timedelta
) -> None:
    endpoint, _ = hook(alone, receiver)
    with clock(wrong):
        for enabled in (False, True):
            endpoint.enabled = enabled
            save_webhook(endpoint, by=SYSTEM)
    assert about(endpoint.events_from, timedelta())
    assert about(WebhookEndpoint.objects.get(pk=endpoint.pk).events_from, timedelta())
