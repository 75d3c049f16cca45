"""Send the results of ended runs to their delivery targets (docs/decisions/0009).

Leases and pauses use the database's clock, as due times do: a worker's clock may be wrong.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from agents.choices import TERMINAL
from agents.delivery.mail import ResultEmail, build_email, mail_server, send_copy
from agents.delivery.report import answer_file, report_of
from agents.delivery.sending import (
    MAIL,
    RETRY_AFTER,
    RUN_DELIVERED,
    WITHIN,
    claim,
    data_of,
    due,
    message,
    new_message_id,
    store_attempt,
    sync_webhook_deliveries,
)
from agents.delivery.targets import (
    ArtifactTarget,
    DriveTarget,
    EmailTarget,
    WebhookTarget,
    ending_of,
    target_of,
)
from agents.errors import ArtifactNotFoundError, InvalidTargetsError
from agents.models import Delivery, Run, WebhookDelivery, WebhookEndpoint
from agents.reads.agents import definition_of
from agents.reads.artifacts import find_artifact
from agents.runtime.rights.data_flow import ENDINGS
from agents.runtime.rights.mixed_data import reason_to_hold
from heartbit_site.base import aio
from heartbit_site.base.visible_text import visible
from tools.connectors.drive.files import DriveError, NameTakenError
from tools.connectors.drive.folder import workspace_drive
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import resolve
from tools.mail.server import MailServerError

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 64
#: After this no further delivery is begun; the next call continues.
LOOK_SECONDS = 30.0
#: Renewed with every copy of a mail: a slow mail server may take minutes for one.
LEASE_SECONDS = 300.0
_MOST_ATTEMPTS = len(RETRY_AFTER) + 1


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Result of one attempt.

    Attributes:
        error: Why the result did not arrive, as one sentence; empty: it arrived.
        final: True if retrying is of no use.
        unavailable: True if the mail server is unavailable, so that other mails would fail too.
    """

    error: str = ""
    final: bool = False
    unavailable: bool = False


def deliver_results() -> int:
    """Send the due deliveries; return how many arrived. Safe to run concurrently."""
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
            if outcome.error:
                logger.info(
                    "delivery %s has not arrived after attempt %d", delivery.pk, delivery.attempts
                )
            arrived += store_attempt(delivery, outcome.error, is_final=outcome.final)
            if outcome.unavailable:
                break
    return arrived


def _attempt(delivery: Delivery) -> _Outcome | None:
    """Attempt a delivery; return None if its outcome is recorded elsewhere."""
    if delivery.attempts > _MOST_ATTEMPTS:
        return _Outcome("The worker crashed at each attempt: its log says why.", final=True)
    runs = Run.objects.select_related("workspace", "version").filter(
        workspace=delivery.workspace_id
    )
    run = runs.filter(pk=delivery.run_id).first()
    if run is None:
        return _Outcome("The run was archived or deleted before its result was sent.", final=True)
    if run.status not in TERMINAL:
        return _Outcome("The run has not ended: its result is sent when it has.")
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
        case DriveTarget():
            return _write(target, run)


def _write(target: DriveTarget, run: Run) -> _Outcome:
    """Write the answer to the workspace's drive; repeated, it finds the file as it should be."""
    name = target.file_of(run)
    text = answer_file(run, name)
    if not text.strip():
        return _no_answer(run, "stored")
    try:
        drive = workspace_drive(run.workspace_id)
        aio.run(drive.write(name, f"{text.rstrip()}\n".encode(), replace=target.replace))
    except NameTakenError as error:
        return _Outcome(str(error), final=True)
    except DriveError as error:
        return _Outcome(str(error))
    return _Outcome()


def _keep(target: ArtifactTarget, run: Run) -> _Outcome:
    try:
        find_artifact(run, target.name)
    except ArtifactNotFoundError:
        return _no_answer(run, "kept")
    return _Outcome()


def _no_answer(run: Run, done: str) -> _Outcome:
    """Return the outcome of a target that needs an answer, with the reason why there is none."""
    error = run.error if isinstance(run.error, dict) else {}
    reason = visible(str(error.get("message") or "")).rstrip(".")
    sentence = f"The run ended without an answer that could be {done}"
    return _Outcome(f"{sentence}{f': {reason}' if reason else ''}.", final=True)


def _hand_over(delivery: Delivery, target: WebhookTarget, run: Run) -> _Outcome | None:
    """Create a message to the webhook; ``sync_webhook_deliveries`` records its outcome."""
    with transaction.atomic():
        endpoints = WebhookEndpoint.objects.filter(workspace=delivery.workspace_id)
        # Locked, so that the webhook cannot be removed before the message exists.
        endpoint = endpoints.select_for_update(no_key=True).filter(pk=target.endpoint).first()
        if endpoint is None:
            return _Outcome("The webhook was removed before the delivery.", final=True)
        message_id, ended = new_message_id(), run.finished_at or timezone.now()
        if not delivery.claimed().update(message_id=message_id, next_at=Now(), error=""):
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
        return _Outcome("The run has no answer, so nothing is sent outside.", final=True)
    is_seen = delivery.released or report.reviewed_by  # by a person
    if ENDINGS[ending_of(target)] and not is_seen and (held := _reason_to_hold(run)):
        return _Outcome(held, final=True)
    try:
        letter = build_email(target, report, delivery.message_id)
        return _send(delivery, target, letter)
    except MailServerError as error:
        return _Outcome(str(error), unavailable=True)
    except ValueError as error:  # a header or an address that no mail can have
        return _Outcome(f"No mail can be made of it: {error}", final=True)


def _reason_to_hold(run: Run) -> str:
    """Return why a person has to release the run's answer; empty: it may leave."""
    if definition_of(run.version).mixed_data == "allow":
        return ""
    reason = reason_to_hold(run.root_id, partial(resolve, catalogue(run.workspace_id)))
    if not reason:
        return ""
    return f"The answer waits for a person, since {reason}: read it, and send it again if it may."


def _send(delivery: Delivery, target: EmailTarget, letter: ResultEmail) -> _Outcome | None:
    """Send a copy to each address that is not settled yet; return None if the lease is lost."""
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
            # Stored at once: a process that takes over sends only to the other addresses.
            rest = Now() + timedelta(seconds=LEASE_SECONDS)
            if not delivery.claimed().update(recipient_results=settled, next_at=rest):
                return None
    if later:
        return _Outcome(later)
    refused = [said for said in settled.values() if said]
    if not refused:
        return _Outcome()
    reached = len(settled) - len(refused)
    more = f" ({reached} of {len(settled)} addresses got it.)" if reached else ""
    return _Outcome(f"{refused[0]}{more}", final=True)
