"""Notify people's browsers of what waits for them, without an open tab (Web Push).

A notification says how much waits, and nothing of what: locked screens show it, and a model wrote
what is asked. Those due together are one.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection, Sequence
from email.utils import parseaddr
from typing import Final

import httpx
from django.conf import settings
from django.contrib.auth.models import Group
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from agents.actions.notified_browsers import NEEDS, push_key
from agents.choices import DeliveryStatus
from agents.delivery.sending import store_attempt
from agents.models import NotifiedBrowser, PushKey, Vote
from agents.querysets import calls_waiting, is_asked, waits_for_answers
from agents.reads.questions import questions_of
from heartbit_site.base import aio, secrets
from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.errors import HeartbitError, NotFoundError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_all

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 64
_TIMEOUT_SECONDS: Final = 10.0
_LEASE_SECONDS: Final = 60.0
_KEPT_SECONDS: Final = 24 * 3600  # by the push service, for a browser that is off
_GONE: Final = frozenset({404, 410})
# The attempt is counted at the claim, as of all messages.
_CLAIM: Final = """
UPDATE agents_notifiedbrowser b
SET attempts = attempts + 1, next_at = clock_timestamp() + make_interval(secs => %s)
FROM (SELECT id FROM agents_notifiedbrowser
      WHERE status = 'pending' AND next_at <= clock_timestamp()
      ORDER BY next_at LIMIT %s FOR UPDATE SKIP LOCKED) due
WHERE b.id = due.id RETURNING b.id
"""


def notify_browsers(workspace: Workspace, user_ids: Collection[int]) -> None:
    """Have the browsers of some people notified soon, once for all that waits by then."""
    rows = NotifiedBrowser.objects.filter(workspace=workspace, user__in=user_ids)
    rows.update(status=DeliveryStatus.PENDING, attempts=0, error="", next_at=Now())


def waiting_for(access: Access) -> int:
    """Return how much waits for the caller: calls and questions that they may decide."""
    voted = Vote.objects.filter(run=OuterRef("run"), user=access.user_id, digest=OuterRef("digest"))
    calls = calls_waiting(access.workspace).filter(is_asked(access.user_id))
    asked = questions_of(waits_for_answers(access.workspace)).values()
    groups = set(Group.objects.filter(user=access.user_id).values_list("name", flat=True))
    return calls.exclude(Exists(voted)).count() + sum(one.is_for(access, groups) for one in asked)


def send_notifications() -> int:
    """Send due notifications; return how many arrived.

    Safe to run concurrently. If nothing waits for a person by now, nothing is sent; browsers of
    people who may decide no longer, and those that the push service does not know, are deleted.
    """
    ids = [one for (one,) in fetch_all(_CLAIM, [_LEASE_SECONDS, _AT_ONCE])]
    rows = NotifiedBrowser.objects.filter(pk__in=ids).select_related("workspace", "user")
    due = [(row, said) for row in rows.order_by("pk") if (said := _said(row))]
    if not due:
        return 0
    arrived = 0
    for (browser, _), (code, error) in zip(due, aio.run(_send_all(due, push_key())), strict=True):
        if error:
            logger.info("a notification of browser %s did not arrive: %s", browser.pk, error)
        if code in _GONE:
            browser.delete()
        else:
            arrived += store_attempt(browser, error, is_final=False)
    return arrived


def _said(browser: NotifiedBrowser) -> bytes:
    """Return what the browser shows; empty: nothing is sent."""
    try:
        access = access_of_user(browser.user, browser.workspace.slug)
    except NotFoundError:
        access = None
    if access is None or not access.allows(NEEDS):
        browser.delete()
        return b""
    count = waiting_for(access)
    if not count:
        browser.claimed().update(status=DeliveryStatus.DELIVERED)
        return b""
    url = f"{settings.HEARTBIT_PUBLIC_URL}/w/{access.workspace.slug}/inbox/"
    text = f"{count} {'waits' if count == 1 else 'wait'} for you in {access.workspace.name}."
    # Arguments of the browser's showNotification.
    said = {"title": "Heartbit", "body": text, "tag": url, "data": {"url": url}}
    return json.dumps(said).encode()


async def _send_all(
    due: Sequence[tuple[NotifiedBrowser, bytes]], key: PushKey
) -> list[tuple[int, str]]:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, deadline_seconds=_TIMEOUT_SECONDS) as client:
        sent = (_send(client, key, browser, said) for browser, said in due)
        return list(await asyncio.gather(*sent))


async def _send(
    client: httpx.AsyncClient, key: PushKey, browser: NotifiedBrowser, said: bytes
) -> tuple[int, str]:
    """Post a notification; return the status, or 0, and why it did not arrive, or nothing."""
    from agents.delivery import web_push  # noqa: PLC0415  costs 50 ms that most processes save

    url = browser.endpoint
    try:
        pem, secret = secrets.reveal(key, "private"), secrets.reveal(browser, "secret")
        headers = {
            "authorization": web_push.authorization(url, pem, key.public, contact=_contact()),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(_KEPT_SECONDS),
            "topic": f"heartbit-{browser.workspace_id}",  # a newer one replaces one that is kept
            "urgency": "high",
        }
        body = web_push.encrypt(said, browser.public, secret)
        async with client.stream(
            "POST", url, content=body, headers=headers, follow_redirects=False
        ) as response:
            code = response.status_code
            told = "" if response.is_success else f"The push service answered with HTTP {code}."
    except (HeartbitError, httpx.HTTPError, ValueError) as error:
        return 0, str(error) or type(error).__name__
    return code, told


def _contact() -> str:
    root: str = settings.HEARTBIT_PUBLIC_URL
    return (
        root if root.startswith("https:") else f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
    )
