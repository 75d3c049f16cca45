"""Send the results of runs that have ended to whom they were ordered for (docs/decisions/0009).

Leases and pauses are by the database's clock, as what is due is: a worker's own may be wrong.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from agents.choices import TERMINAL, DeliveryStatus
from agents.delivery.due import MAIL, WITHIN, claim, due, sync_webhook_deliveries
from agents.delivery.mail import build_email, mail_server, send_copy
from agents.delivery.report import report_of
from agents.delivery.targets import ArtifactTarget, EmailTarget, WebhookTarget, target_of
from agents.delivery.webhook_payload import RUN_DELIVERED, data_of
from agents.delivery.webhooks import RETRY_AFTER, message, new_message_id, retry_after
from agents.errors import ArtifactNotFoundError, InvalidTargetsError, MailServerError
from agents.models import Delivery, Run, WebhookDelivery, WebhookEndpoint
from agents.reads.artifacts import find_artifact

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from agents.delivery.mail import ResultEmail

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 64
#: After this no further one is begun: the next look goes on.
LOOK_SECONDS = 30.0
#: Renewed with every copy of a mail; a mail server that answers slowly may take minutes for one.
LEASE_SECONDS = 300.0
KEPT = timedelta(days=30)
_MOST_ATTEMPTS = len(RETRY_AFTER) + 1
_MOST_SAID = 500


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of an attempt.

    Attributes:
        error: Why it has not arrived, as one sentence; empty: it has.
        final: Trying again is of no use.
        away: The mail server cannot be used, so other mails would fare alike.
    """

    error: str = ""
    final: bool = False
    away: bool = False


def deliver_results() -> int:
    """Send what is due; how many deliveries arrived.

    Any number may run at once, in any number of processes.
    """
    arrived = sync_webhook_deliveries()
    ends = time.monotonic() + LOOK_SECONDS
    for kinds in (WITHIN, MAIL):
        for candidate in due(kinds, limit=MOST_AT_ONCE):
            if time.monotonic() > ends:
                return arrived
            delivery = claim(candidate, lease_seconds=LEASE_SECONDS)
            outcome = _attempt(delivery) if delivery is not None else None
            if delivery is None or outcome is None:
                continue
            arrived += _store(delivery, outcome)
            if outcome.away:
                break
    return arrived


def prune_result_deliveries() -> int:
    """Delete the log of what was sent, or given up, a month ago, if its run is gone; how many rows.

    As long as the run is there its deliveries tell what became of its result.
    """
    old = Delivery.objects.filter(created_at__lt=timezone.now() - KEPT)
    over = old.exclude(status=DeliveryStatus.PENDING)
    return over.exclude(Exists(Run.objects.filter(pk=OuterRef("run_id")))).delete()[0]


def _attempt(delivery: Delivery) -> _Outcome | None:
    """Try it; None: what comes of it is somebody else's to note."""
    if delivery.attempts > _MOST_ATTEMPTS:
        return _Outcome("Whoever sent it died each time: the workers' logs say why.", final=True)
    runs = Run.objects.select_related("workspace").filter(workspace=delivery.workspace_id)
    run = runs.filter(pk=delivery.run_id).first()
    if run is None:
        return _Outcome("The run was archived or deleted before its result was sent.", final=True)
    if run.status not in TERMINAL:
        return _Outcome("The run goes on: its result is sent when it has ended.")
    try:
        target = target_of(delivery.target)
    except InvalidTargetsError as error:
        return _Outcome(str(error), final=True)
    match target:
        case EmailTarget():
            return _mail(delivery, target, run)
        case WebhookTarget():
            return _hand_over(delivery, target, run)
        case ArtifactTarget():
            return _keep(target, run)


def _keep(target: ArtifactTarget, run: Run) -> _Outcome:
    try:
        find_artifact(run, target.name)
    except ArtifactNotFoundError:
        return _Outcome("The run ended without an answer that could be kept.", final=True)
    return _Outcome()


def _hand_over(delivery: Delivery, target: WebhookTarget, run: Run) -> _Outcome | None:
    """Make it a message to the webhook; ``sync_webhook_deliveries`` tells what comes of it."""
    with transaction.atomic():
        endpoints = WebhookEndpoint.objects.filter(workspace=delivery.workspace_id)
        # It cannot be removed before the message is there.
        endpoint = endpoints.select_for_update(no_key=True).filter(pk=target.endpoint).first()
        if endpoint is None:
            return _Outcome("The webhook was removed before it was told.", final=True)
        message_id, ended = new_message_id(), run.finished_at or timezone.now()
        if not _mine(delivery).update(message_id=message_id, next_at=Now(), error=""):
            return None
        WebhookDelivery.objects.create(
            endpoint=endpoint,
            run_id=run.pk,
            event=RUN_DELIVERED,
            event_key=f"delivery:{delivery.pk}",
            message_id=message_id,
            payload=message(RUN_DELIVERED, ended, data_of(run)),
        )
    return None


def _mail(delivery: Delivery, target: EmailTarget, run: Run) -> _Outcome | None:
    report = report_of(run, attach=target.attach and not target.external)
    if target.external and (report.problem or not report.answer):
        return _Outcome("The run has no answer, so nobody outside is told.", final=True)
    try:
        letter = build_email(target, report, delivery.message_id)
        return _send(delivery, target, letter)
    except MailServerError as error:
        return _Outcome(str(error), away=True)
    except ValueError as error:  # a header or an address that no mail can have
        return _Outcome(f"No mail can be made of it: {error}", final=True)


def _send(delivery: Delivery, target: EmailTarget, letter: ResultEmail) -> _Outcome | None:
    """A copy to each address that is not settled yet; None: the lease is lost."""
    settled = dict(delivery.recipient_results)
    later = ""
    with mail_server() as server:
        for address in target.to:
            if address in settled:
                continue
            refusal = send_copy(server, letter, address)
            if refusal is None or refusal.final:
                settled[address] = refusal.sentence if refusal is not None else ""
            else:
                later = later or refusal.sentence
            # Noted at once: whoever takes over sends to the others alone.
            rest = Now() + timedelta(seconds=LEASE_SECONDS)
            if not _mine(delivery).update(recipient_results=settled, next_at=rest):
                return None
    if later:
        return _Outcome(later)
    refused = [said for said in settled.values() if said]
    if not refused:
        return _Outcome()
    reached = len(settled) - len(refused)
    more = f" ({reached} of {len(settled)} addresses got it.)" if reached else ""
    return _Outcome(f"{refused[0]}{more}", final=True)


def _mine(delivery: Delivery) -> QuerySet[Delivery]:
    """The row, unless somebody else has taken it over meanwhile."""
    return Delivery.objects.filter(
        pk=delivery.pk, status=DeliveryStatus.PENDING, attempts=delivery.attempts
    )


def _store(delivery: Delivery, outcome: _Outcome) -> bool:
    """Note the outcome; whether it arrived."""
    error = outcome.error[:_MOST_SAID]
    if not error:
        done = {"status": DeliveryStatus.DELIVERED, "delivered_at": Now(), "error": ""}
        return bool(_mine(delivery).update(**done))
    wait = None if outcome.final else retry_after(delivery.attempts)
    if wait is None:
        _mine(delivery).update(status=DeliveryStatus.FAILED, error=error)
    else:
        _mine(delivery).update(next_at=Now() + wait, error=error)
    logger.info("delivery %s has not arrived after attempt %d", delivery.pk, delivery.attempts)
    return False
