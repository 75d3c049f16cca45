"""Provider accounts: the workspace's own keys for language models, with rate limits."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from agents.actions import provider_accounts as accounts
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConfigurationError, NotFoundError, Remedy
from heartbit_site.base.models import ProviderAccount, Workspace
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.provider_accounts import (
    ProviderAccountChangeIn,
    ProviderAccountIn,
    ProviderAccountOut,
    ProviderAccountsOut,
)
from heartbit_site.operations.paging import find_row, list_page, row_id


class ProviderAccountNotFoundError(NotFoundError):
    """The workspace has no such provider account."""


def list_provider_accounts(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> ProviderAccountsOut:
    """Return the workspace's provider accounts, without their keys."""
    rows = ProviderAccount.objects.filter(workspace=access.workspace)
    return list_page(ProviderAccountsOut, rows, "pk", cursor, limit, _view)


def create_provider_account(access: Access, body: ProviderAccountIn) -> ProviderAccountOut:
    """Add an account; its key pays for the workspace's model calls from now on."""
    row = ProviderAccount(workspace=access.workspace, **body.model_dump(exclude={"key"}))
    return _saved(access, row, body.key)


def change_provider_account(
    access: Access, account_id: Word, body: ProviderAccountChangeIn
) -> ProviderAccountOut:
    """Change the given settings; a new base URL takes the key again, for it is sent there."""
    row = _find(access.workspace, account_id)
    given = body.model_dump(exclude_unset=True)
    key = given.pop("key", None)
    for name, value in given.items():
        setattr(row, name, value)
    return _saved(access, row, key)


def check_provider_account(access: Access, account_id: Word) -> ProviderAccountOut:
    """Ask the provider whether it takes the key; this takes ten seconds at most."""
    row = _find(access.workspace, account_id)
    accounts.check_account(row)
    return _view(row)


def remove_provider_account(access: Access, account_id: Word) -> None:
    """Delete an account and its key; the environment's key is used again, if there is one."""
    accounts.remove_provider_account(_find(access.workspace, account_id), by=actor_of(access))


def _saved(access: Access, row: ProviderAccount, key: str | None) -> ProviderAccountOut:
    try:
        row.clean_fields(exclude=["workspace", "secret"])
    except ValidationError as error:
        name, problems = next(iter(error.message_dict.items()))
        raise ConfigurationError(f"The {name.replace('_', ' ')}: {problems[0]}") from None
    accounts.save_provider_account(row, key=key, by=actor_of(access))
    return _view(row)


def _find(workspace: Workspace, account_id: str) -> ProviderAccount:
    rows = ProviderAccount.objects.filter(workspace=workspace, pk=row_id(account_id))
    missing = ProviderAccountNotFoundError(
        "The workspace has no such provider account.",
        remedy=Remedy("provider_accounts.list_provider_accounts"),
    )
    return find_row(rows.select_related("workspace"), missing)


def _view(row: ProviderAccount) -> ProviderAccountOut:
    return ProviderAccountOut.of(row, name=row.label or row.provider)
