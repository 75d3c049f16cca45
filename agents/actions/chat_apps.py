"""Save, check and remove chat apps, and link members' accounts in them by a code."""

from __future__ import annotations

import hashlib
import secrets as random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from agents.chat_apps.adapter import ChatAdapter, ChatCommand, ChatError
from agents.chat_apps.services import adapter_of
from agents.errors import ChatAppConflictError, ChatAppNotFoundError
from agents.models import ChatAccount, ChatApp
from heartbit_site.base import aio, secrets
from heartbit_site.base.access import Access
from heartbit_site.base.audit import Actor, actor_of, changes, record_on
from heartbit_site.base.errors import ConfigurationError, about
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text

T = TypeVar("T")

#: Secrets of a chat app, by column, with the name by which a person finds each at Slack.
SECRETS: Final = {
    "bot_token": "bot token",
    "signing_secret": "signing secret",
    "app_token": "app-level token",
}
TIMEOUT_SECONDS: Final = 10.0
#: What a member writes in the chat before a code.
COMMAND: Final = "/heartbit"
NEEDS: Final = "approvals:decide"
CODE_LIFE: Final = timedelta(minutes=15)
MOST: Final = 20  # chat apps of a workspace
_CHANGED: Final = ("name", "enabled", "place", "api_url")
_ENDED: Final[dict[str, Any]] = {"external_id": "", "linked_at": None}
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none looks like another
_CODE_LENGTH: Final = 12
_LONGEST_SECRET: Final = 500
_MOST_SAID: Final = 500
UNLINKED: Final = (
    "This account is linked to no member of Heartbit, so it decides nothing. Open Account in "
    "Heartbit, choose Link, and send the command that it shows."
)


def save_chat_app(app: ChatApp, given: Mapping[str, str], *, by: Actor) -> None:
    """Validate and write a chat app; one that is enabled again asks what waits from then on.

    Args:
        app: A new or changed row.
        given: Secrets by column of ``SECRETS``; what is left out stays, an empty one is deleted.
        by: The actor, for the audit, which never holds a secret.

    Raises:
        ConfigurationError: A setting is not valid; the message names it.
        ChatAppConflictError: The workspace has one of that name, or 20.
        ChatAppNotFoundError: It was removed meanwhile.
    """
    require(by, "workspace:manage", workspace_id=app.workspace_id)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=app.workspace_id)
        before = ChatApp.objects.select_for_update(no_key=True).filter(pk=app.pk).first()
        if before is None and not app._state.adding:
            raise ChatAppNotFoundError("The chat app was removed meanwhile.")
        _check(app, before, given)
        found = changes(before if before is not None else ChatApp(), app, _CHANGED)
        said = dict.fromkeys(given, "not shown")
        if before is None or "enabled" in found:
            app.asks_from = timezone.now()
        app.last_error = ""
        if before is None:
            app.save()
        else:  # what other processes write meanwhile stays
            columns = [*_CHANGED, "asks_from", "last_error"]
            if {"api_url", "enabled"} & found.keys() or "app_token" in given:
                app.connected_until = None  # ends the lease: the next connection has what is new
                columns.append("connected_until")
            app.save(update_fields=columns)
        for column, text in given.items():
            secrets.store(app, column, text.strip())
        if before is None or found or said:
            action = f"chat_app.{'create' if before is None else 'change'}"
            record_on(by, action, app, details=found | said)


def _check(app: ChatApp, before: ChatApp | None, given: Mapping[str, str]) -> None:
    app.name, app.place = app.name.strip(), app.place.strip()
    with about("name"):
        if not app.name or clean_text(app.name) != app.name or not app.name.isprintable():
            raise ConfigurationError("A chat app needs a name of one line.")
    with about("place"):
        if app.place and not (app.place.isascii() and app.place.isalnum()):
            raise ConfigurationError(
                f"{app.place!r} is no channel's id, such as C0123456789: copy it from the "
                "channel's details."
            )
    for column, text in given.items():
        text = text.strip()
        with about(column):
            if len(text) > _LONGEST_SECRET or not (text.isascii() and text.isprintable()):
                raise ConfigurationError(f"The {SECRETS[column]} holds characters that none has.")
    has = {
        column: bool(given[column].strip() if column in given else getattr(app, column))
        for column in SECRETS
    }
    with about("bot_token"):
        if not has["bot_token"]:
            raise ConfigurationError("A chat app needs its bot token, which begins with xoxb-.")
        sent = [one for one in ("bot_token", "app_token") if one not in given and has[one]]
        if before is not None and before.api_url != app.api_url and sent:
            # Else a person could have a stored token, which is secret, sent to any server.
            raise ConfigurationError(
                f"The API is at another URL now: enter the {SECRETS[sent[0]]} again, as the stored "
                "one belongs to the former."
            )
    others = ChatApp.objects.filter(workspace=app.workspace_id).exclude(pk=app.pk)
    with about("name"):
        if others.filter(name=app.name).exists():
            raise ChatAppConflictError(f"The workspace already has a chat app named {app.name}.")
    if before is None and others.count() >= MOST:
        raise ChatAppConflictError(
            f"The workspace has {MOST} chat apps, which is the most: remove one first."
        )


@transaction.atomic
def remove_chat_app(app: ChatApp, *, by: Actor) -> None:
    """Delete a chat app with its links; messages that it has sent stay, and decide nothing."""
    require(by, "workspace:manage", workspace_id=app.workspace_id)
    ChatApp.objects.filter(pk=app.pk).delete()
    record_on(by, "chat_app.remove", app)


def check_chat_app(app: ChatApp, *, by: Actor) -> str:
    """Ask the service whether it takes the bot token; return how it calls the app.

    Raises:
        ChatError: It does not, or is not reached; the reason is stored.
    """
    require(by, "workspace:manage", workspace_id=app.workspace_id)
    try:
        found = aio.run(with_adapter(app, lambda adapter: adapter.check()))
    except ChatError as error:
        note_error(app, str(error))
        raise
    note_error(app, "")
    return found


async def with_adapter(
    app: ChatApp,
    use: Callable[[ChatAdapter], Awaitable[T]],
    *,
    seconds: float = TIMEOUT_SECONDS,
) -> T:
    """Use an app's adapter with a guarded client, whose requests have a limit in seconds."""
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, deadline_seconds=seconds) as client:
        return await use(adapter_of(app, client))


def note_error(app: ChatApp, error: str) -> None:
    """Store why the app does not work; empty: it does."""
    app.last_error = error[:_MOST_SAID]
    ChatApp.objects.filter(pk=app.pk).exclude(last_error=app.last_error).update(
        last_error=app.last_error
    )


@dataclass(frozen=True, slots=True)
class LinkCode:
    """A code that links an account, once.

    Attributes:
        text: The code; only its digest is stored.
    """

    text: str
    expires_at: datetime


@transaction.atomic
def make_code(access: Access, app: ChatApp) -> LinkCode:
    """Make the code by which the caller links an account; an earlier code and link end.

    Raises:
        ForbiddenError: The caller may not decide calls.
        ConfigurationError: The caller is no person.
    """
    require(actor_of(access), NEEDS, workspace_id=app.workspace_id)
    if access.user_id is None:
        raise ConfigurationError("Only a person has an account: use a key that a person created.")
    text = "".join(random.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    code = LinkCode(text, timezone.now() + CODE_LIFE)
    columns = {"code_digest": _digest(text), "code_expires_at": code.expires_at}
    ChatAccount.objects.update_or_create(app=app, user_id=access.user_id, defaults=columns | _ENDED)
    return code


def link_account(app: ChatApp, command: ChatCommand) -> str:
    """Link the account that sent a code to the member who made it; return the answer.

    An account of another member is linked to this one from now on: a person who has both decides.
    """
    text = command.text.upper().replace("-", "").removeprefix("LINK").strip()
    with transaction.atomic():
        rows = ChatAccount.objects.select_for_update(of=("self",)).select_related("user", "app")
        row = rows.filter(
            app=app, code_digest=_digest(text), code_expires_at__gt=Now(), user__is_active=True
        ).first()
        if row is None:
            linked = ChatAccount.objects.filter(app=app, external_id=command.account).first()
            if linked is not None and not text:
                return f"This account decides as {linked.user}."
            return f"This code is not known here, or its 15 minutes are over. {UNLINKED}"
        others = ChatAccount.objects.filter(app=app, external_id=command.account)
        others.exclude(pk=row.pk).update(**_ENDED)
        row.external_id, row.code_digest, row.code_expires_at = command.account, "", None
        row.linked_at = timezone.now()
        row.save()
        by = Actor(row.user.get_username(), "chat", row.user_id)
        record_on(by, "chat_account.link", row, details={"account": command.account})
    return f"This account now decides as {row.user}, in {app.workspace.name}."


@transaction.atomic
def unlink_account(row: ChatAccount, *, by: Actor) -> None:
    """End a link: one's own, or as a manager of the workspace.

    The row stays, because messages that were sent to the account are still updated.

    Raises:
        ForbiddenError: The link is another person's, and the author does not manage the workspace.
    """
    if by.user_id is None or row.user_id != by.user_id:
        require(by, "workspace:manage", workspace_id=row.app.workspace_id)
    ChatAccount.objects.filter(pk=row.pk).update(**_ENDED)
    record_on(by, "chat_account.unlink", row, details={"account": row.external_id})


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
