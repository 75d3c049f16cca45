"""Receivers of the states of a task: add, remove, and send what they do not have."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Final

import httpx
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from agents.choices import DeliveryStatus
from agents.delivery.sending import store_attempt
from agents.delivery.task_states import claim_task_pushes, headers_of_push, is_last, task_at
from agents.errors import RunNotFoundError
from agents.models import Run, TaskPush
from agents.models.webhook import check_webhook_url
from heartbit_site.base import aio, secrets
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.rights import require

logger = logging.getLogger(__name__)

MOST: Final = 10  # receivers of a task
_AT_ONCE: Final = 64
_TIMEOUT_SECONDS: Final = 10.0
_LEASE_SECONDS: Final = 60.0
_MOST_CHARACTERS: Final = 2_000


@transaction.atomic
def save_task_push(push: TaskPush, *, token: str, scheme: str, secret: str, by: Actor) -> TaskPush:
    """Add a receiver to a task, or replace the one of that name; it gets the present state.

    Raises:
        ConfigurationError: A setting is not valid, or the task has 10 receivers.
    """
    require(by, "runs:write", workspace_id=push.workspace_id)
    try:
        check_webhook_url(push.url)
    except ValidationError as error:
        raise ConfigurationError(
            f"The URL of the receiver is not valid: {error.messages[0]}"
        ) from None
    for name, text in {"token": token, "scheme": scheme, "credentials": secret}.items():
        if not text.isascii() or not text.isprintable() or len(text) > _MOST_CHARACTERS:
            raise ConfigurationError(
                f"The {name} of the receiver must be at most {_MOST_CHARACTERS} printable ASCII "
                "characters, since a header carries it."
            )
    Run.objects.select_for_update(no_key=True).get(pk=push.run_id)
    others = TaskPush.objects.filter(run_id=push.run_id).exclude(name=push.name)
    if others.count() >= MOST:
        raise ConfigurationError(f"The task has {MOST} receivers, which is the most.")
    TaskPush.objects.filter(run_id=push.run_id, name=push.name).delete()
    push.scheme = scheme
    push.save()
    secrets.store(push, "token", token)
    secrets.store(push, "secret", secret)
    return push


def send_task_pushes() -> int:
    """Send receivers the states that they do not have; return how many arrived.

    Safe to run concurrently. A state that is sent again after a crash is the same message.
    """
    messages: list[tuple[TaskPush, str, bytes]] = []
    for push, mark in claim_task_pushes(limit=_AT_ONCE, lease_seconds=_LEASE_SECONDS):
        try:
            told = {"task": task_at(push, mark)}
        except RunNotFoundError:  # deleted meanwhile
            push.delete()
            continue
        body = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
        messages.append((push, mark, body))
    if not messages:
        return 0
    errors = aio.run(_send_all(messages))
    for (push, mark, _), error in zip(messages, errors, strict=True):
        _store(push, mark, error)
    return sum(not error for error in errors)


async def _send_all(messages: Sequence[tuple[TaskPush, str, bytes]]) -> list[str]:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, deadline_seconds=_TIMEOUT_SECONDS) as client:
        sent = (_send(client, push, body) for push, _, body in messages)
        return list(await asyncio.gather(*sent))


async def _send(client: httpx.AsyncClient, push: TaskPush, body: bytes) -> str:
    """Post a state; return why it did not arrive, or an empty string."""
    try:
        headers = headers_of_push(push)
        async with client.stream(
            "POST", push.url, content=body, headers=headers, follow_redirects=False
        ) as response:
            return "" if response.is_success else f"It answered with HTTP {response.status_code}."
    except (HeartbitError, httpx.HTTPError, ValueError) as error:
        return str(error) or type(error).__name__


def _store(push: TaskPush, mark: str, error: str) -> None:
    """Store the outcome; after a state that is not the last, the receiver waits for the next."""
    if error or is_last(mark):
        noted = {} if error else {"mark": mark}
        store_attempt(push, error, is_final=False, **noted)
    else:
        push.claimed().update(mark=mark, attempts=0, error="", next_at=Now())
    if error:
        logger.info("a state of task %s did not arrive: %s", push.run_id, error)


def prune_task_pushes(before: Combinable) -> int:
    """Delete receivers that were added before a time, unless their task still lives."""
    old = TaskPush.objects.filter(created_at__lt=before)
    live = Run.objects.filter(finished_at__isnull=True).values("pk")
    return old.exclude(status=DeliveryStatus.PENDING, run_id__in=live).delete()[0]
