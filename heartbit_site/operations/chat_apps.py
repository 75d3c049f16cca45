"""Chat apps: where members are asked what waits for them, and decide it by their own accounts."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

from agents.actions import chat_apps as apps
from agents.errors import ChatAppNotFoundError
from agents.models import ChatAccount, ChatApp
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConfigurationError, Remedy
from heartbit_site.contract.chat_apps import (
    ChatAppChangeIn,
    ChatAppIn,
    ChatAppOut,
    ChatAppsOut,
    ChatCheckOut,
    ChatCodeOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.members import NoPersonError
from heartbit_site.operations.paging import find_row, list_page, row_id


def list_chat_apps(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> ChatAppsOut:
    """Return the workspace's chat apps, the newest first, without their secrets."""
    rows, linked = ChatApp.objects.filter(workspace=access.workspace), _linked(access)
    return list_page(
        ChatAppsOut, rows, "-pk", cursor, limit, lambda row: _view(row, is_linked=row.pk in linked)
    )


def create_chat_app(access: Access, body: ChatAppIn) -> ChatAppOut:
    """Add a chat app; members are asked there what begins to wait from now on."""
    row = ChatApp(workspace=access.workspace, created_by_id=access.user_id)
    return _saved(access, row, body.model_dump())


def change_chat_app(access: Access, chat_app_id: Word, body: ChatAppChangeIn) -> ChatAppOut:
    """Change the given settings; a new API URL takes the tokens again, for they are sent there."""
    return _saved(access, _find(access, chat_app_id), body.model_dump(exclude_unset=True))


def check_chat_app(access: Access, chat_app_id: Word) -> ChatCheckOut:
    """Ask the service whether it takes the bot token; this takes ten seconds at most."""
    row = _find(access, chat_app_id)
    return ChatCheckOut(account=apps.check_chat_app(row, by=actor_of(access)))


def remove_chat_app(access: Access, chat_app_id: Word) -> None:
    """Delete a chat app and the links of its accounts; nothing is decided there any more."""
    apps.remove_chat_app(_find(access, chat_app_id), by=actor_of(access))


def link_chat_account(access: Access, chat_app_id: Word) -> ChatCodeOut:
    """Make the code by which an account in the chat decides as you; it serves once, 15 minutes."""
    _require_person(access)
    code = apps.make_code(access, _find(access, chat_app_id))
    return ChatCodeOut(
        code=code.text, command=f"{apps.COMMAND} {code.text}", expires_at=code.expires_at
    )


def unlink_chat_account(access: Access, chat_app_id: Word) -> None:
    """Let no account in the chat decide as you any more."""
    _require_person(access)
    rows = ChatAccount.objects.filter(app=_find(access, chat_app_id), user=access.user_id)
    missing = ChatAppNotFoundError("No account in that chat app is linked to you.")
    rows = rows.exclude(external_id="")
    row = find_row(rows.select_related("app__workspace", "user"), missing)
    apps.unlink_account(row, by=actor_of(access))


def _require_person(access: Access) -> None:
    if access.user_id is None:
        raise NoPersonError("This caller is no person: sign in, or use a key that a person made.")


def _saved(access: Access, row: ChatApp, given: dict[str, Any]) -> ChatAppOut:
    secrets = {name: given.pop(name) for name in apps.SECRETS if name in given}
    if row._state.adding:
        secrets = {name: text for name, text in secrets.items() if text}
    if "channel" in given:
        given["place"] = given.pop("channel")
    for name, value in given.items():
        setattr(row, name, value)
    try:
        row.clean_fields(exclude=["workspace", *apps.SECRETS])
    except ValidationError as error:
        name, problems = next(iter(error.message_dict.items()))
        raise ConfigurationError(f"The {name.replace('_', ' ')}: {problems[0]}") from None
    apps.save_chat_app(row, secrets, by=actor_of(access))
    return _view(row, is_linked=row.pk in _linked(access))


def _linked(access: Access) -> set[int]:
    rows = ChatAccount.objects.filter(user=access.user_id, app__workspace=access.workspace)
    return set(rows.exclude(external_id="").values_list("app", flat=True))


def _view(row: ChatApp, *, is_linked: bool) -> ChatAppOut:
    return ChatAppOut.of(row, linked=is_linked)


def _find(access: Access, chat_app_id: str) -> ChatApp:
    rows = ChatApp.objects.filter(workspace=access.workspace, pk=row_id(chat_app_id))
    missing = ChatAppNotFoundError(
        "The workspace has no such chat app.", remedy=Remedy("chat_apps.list_chat_apps")
    )
    return find_row(rows.select_related("workspace"), missing)
