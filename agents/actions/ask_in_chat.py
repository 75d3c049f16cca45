"""Ask members in chat apps what waits for them, and show there how each wait ended.

Waits are looked for, as events of webhooks are: no run waits for a chat service, and nothing is
lost while a worker, the broker or the service is down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.models import Group
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Now
from django.utils import timezone

from agents.actions.chat_apps import NEEDS, TIMEOUT_SECONDS, note_error
from agents.chat_apps.adapter import ChatAdapter, ChatError
from agents.chat_apps.card import Card, card_of
from agents.chat_apps.services import adapter_of
from agents.choices import DeliveryStatus
from agents.delivery.sending import store_attempt
from agents.journal.waits import APPROVAL, OUTCOME
from agents.models import ChatAccount, ChatApp, ChatQuestion, Wait
from agents.querysets import calls_waiting, is_asked, waits_for_people
from agents.reads.questions import questions_of
from heartbit_site.base import aio
from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.query import fetch_all
from heartbit_site.base.queues import ASK_IN_CHAT, SYSTEM

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 64
_MOST_NEW: Final = 200  # waits of a workspace that one call looks at
_LEASE_SECONDS: Final = 60.0
_EXPIRES_SECONDS: Final = 30.0
# A question is due until it is sent, and again once its wait has ended. The attempt is counted at
# the claim, as of all messages.
_CLAIM: Final = """
UPDATE agents_chatquestion q
SET attempts = attempts + 1, next_at = clock_timestamp() + make_interval(secs => %s)
FROM (SELECT one.id FROM agents_chatquestion one
      JOIN agents_wait w ON w.id = one.wait_id JOIN agents_run r ON r.id = w.run_id
      JOIN agents_chatapp a ON a.id = one.app_id
      WHERE one.status = 'pending' AND one.next_at <= clock_timestamp() AND a.enabled
        AND (one.message = '' OR w.resolved_at IS NOT NULL OR r.finished_at IS NOT NULL)
      ORDER BY one.next_at LIMIT %s FOR UPDATE OF one SKIP LOCKED) due
WHERE q.id = due.id RETURNING q.id
"""


def look_soon() -> None:
    """Have a worker ask and update now, and not with Beat's next message."""
    send(TaskMessage(ASK_IN_CHAT, "", SYSTEM, seconds=_EXPIRES_SECONDS))


def ask_in_chat() -> int:
    """Send what is due to chat apps; return the number of messages sent or updated.

    Safe to run concurrently. A message is sent at least once: Slack knows no idempotency key, so
    one that a crash follows before it is noted is sent again after a minute.
    """
    for app in ChatApp.objects.filter(enabled=True).select_related("workspace"):
        _create(app)
        ChatApp.objects.filter(pk=app.pk).update(last_polled_at=Now())
    ids = [one for (one,) in fetch_all(_CLAIM, [_LEASE_SECONDS, _AT_ONCE])]
    rows = ChatQuestion.objects.filter(pk__in=ids).select_related(
        "app__workspace", "account", "wait__run__workspace", "wait__run__root"
    )
    due = [(row, card) for row in rows.order_by("pk") if (card := _card(row)) is not None]
    if not due:
        return 0
    results = aio.run(_send_all(due))
    return sum(_store(*one, result) for one, result in zip(due, results, strict=True))


def _create(app: ChatApp) -> None:
    """Create the questions that are owed: one in the app's channel, or one for each decider."""
    open_waits = waits_for_people(app.workspace).filter(created_at__gte=app.asks_from)
    mine = ChatQuestion.objects.filter(app=app, wait=OuterRef("pk"))
    if app.place:
        new = open_waits.exclude(Exists(mine))[:_MOST_NEW]
        questions = [ChatQuestion(app=app, wait=wait) for wait in new]
    else:
        accounts = ChatAccount.objects.filter(app=app).exclude(external_id="")
        waits = list(open_waits.order_by("-id")[:_MOST_NEW])
        questions = [
            ChatQuestion(app=app, wait=wait, account=account)
            for account in (accounts.select_related("user") if waits else ())
            for wait in _asked(app, account, waits)
        ]
    ChatQuestion.objects.bulk_create(questions, ignore_conflicts=True)


def _asked(app: ChatApp, account: ChatAccount, waits: Sequence[Wait]) -> Iterator[Wait]:
    """Yield the waits that a member may decide and was not asked about."""
    access = access_of(account, app)
    if access is None:
        return
    known = set(ChatQuestion.objects.filter(account=account).values_list("wait", flat=True))
    new = [wait for wait in waits if wait.pk not in known]
    questions = questions_of([wait for wait in new if wait.kind not in _ABOUT_CALLS])
    groups = set(Group.objects.filter(user=account.user_id).values_list("name", flat=True))
    rows = calls_waiting(app.workspace).filter(is_asked(account.user_id))
    calls = set(rows.values_list("run_id", "call_id")) if new else set()
    for wait in new:
        if wait.pk in questions:
            is_theirs = questions[wait.pk].is_for(access, groups)
        else:
            is_theirs = wait.kind == OUTCOME.name or (wait.run_id, wait.call_id) in calls
            is_theirs = is_theirs and access.allows(NEEDS)
        if is_theirs:
            yield wait


_ABOUT_CALLS: Final = frozenset({APPROVAL.name, OUTCOME.name})


def access_of(account: ChatAccount, app: ChatApp) -> Access | None:
    """Return the present access of an account's member; None for one who has left."""
    try:
        return access_of_user(account.user, app.workspace.slug)
    except NotFoundError:
        return None


def _card(question: ChatQuestion) -> Card | None:
    """Return the card to send; None: there is nothing to send any more."""
    card, account = card_of(question.wait), question.account
    if not question.message:
        is_asked = account is None or bool(
            account.external_id and access_of(account, question.app) is not None
        )
        if card.closed or not is_asked:
            question.claimed().update(status=DeliveryStatus.DELIVERED)
            return None
    return card if question.app.takes_clicks else replace(card, buttons=())


async def _send_all(
    due: Sequence[tuple[ChatQuestion, Card]],
) -> list[tuple[str, str] | ChatError]:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, deadline_seconds=TIMEOUT_SECONDS) as client:
        sent = (_send(adapter_of(row.app, client), row, card) for row, card in due)
        return list(await asyncio.gather(*sent))


async def _send(
    adapter: ChatAdapter, question: ChatQuestion, card: Card
) -> tuple[str, str] | ChatError:
    try:
        if question.message:
            await adapter.update(question.place, question.message, card)
            return question.place, question.message
        account = question.account.external_id if question.account is not None else ""
        return await adapter.post(question.app.place, account, card)
    except ChatError as error:
        return error


def _store(question: ChatQuestion, card: Card, result: tuple[str, str] | ChatError) -> bool:
    """Store the outcome; a question that was sent is due again when its wait has ended."""
    if isinstance(result, ChatError):
        logger.info("chat app %s was not told: %s", question.app_id, result)
        note_error(question.app, str(result))
        if result.after_seconds:  # the service's word; such an attempt does not count
            at = timezone.now() + timedelta(seconds=result.after_seconds)
            question.claimed().update(next_at=at, attempts=F("attempts") - 1, error=str(result))
        else:
            store_attempt(question, str(result), is_final=result.is_final)
        return False
    note_error(question.app, "")
    place, message = result
    noted = {"place": place, "message": message}
    if card.closed:
        return store_attempt(question, "", is_final=False, **noted)
    return bool(
        question.claimed().update(attempts=0, error="", next_at=Now(), delivered_at=Now(), **noted)
    )
