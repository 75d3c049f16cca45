"""Credentials that tools use: the workspace's, and the caller's own."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.credentials import entered_types
from heartbit_site.base.errors import ForbiddenError, Remedy
from heartbit_site.contract.credentials import (
    CredentialChangeIn,
    CredentialIn,
    CredentialOut,
    CredentialsOut,
    CredentialTypeOut,
    CredentialTypesOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.operation import MANAGE
from heartbit_site.operations.paging import find_row, list_page, page_of, row_id
from tools.actions.credentials import check_credential as check
from tools.actions.credentials import remove_credential as remove
from tools.actions.credentials import save_credential
from tools.errors import CredentialNotFoundError
from tools.models import Credential


def list_credential_types(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> CredentialTypesOut:
    """Return the types of credentials that people can enter, by kind, with their fields."""
    known = entered_types()
    found, following = page_of(known, str, cursor, limit)
    types = [
        CredentialTypeOut(
            kind=each.kind,
            label=each.label,
            fields=each.model_json_schema(),
            secrets=list(each.secret_fields()),
        )
        for each in found
    ]
    return CredentialTypesOut(types=types, next_cursor=following)


def list_credentials(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> CredentialsOut:
    """Return the workspace's credentials and the caller's own, newest first, without secrets."""
    return list_page(CredentialsOut, _visible(access), "-pk", cursor, limit)


def create_credential(access: Access, body: CredentialIn) -> CredentialOut:
    """Add a credential; one for all runs of the workspace requires the right to manage it."""
    if body.personal and access.user_id is None:
        raise ForbiddenError(
            "A personal credential needs a person, and this API key belongs to none."
        )
    row = Credential(
        workspace=access.workspace,
        user_id=access.user_id if body.personal else None,
        name=body.name,
        kind=body.kind,
        enabled=body.enabled,
    )
    _check_right(access, row)
    save_credential(row, body.fields, by=actor_of(access))
    return CredentialOut.of(row)


def change_credential(
    access: Access, credential_id: Word, body: CredentialChangeIn
) -> CredentialOut:
    """Change the given settings. An empty or omitted secret is unchanged."""
    row = _changeable(access, credential_id)
    for name, value in body.model_dump(exclude_none=True, exclude={"fields"}).items():
        setattr(row, name, value)
    save_credential(row, body.fields or {}, by=actor_of(access))
    return CredentialOut.of(row)


def remove_credential(access: Access, credential_id: Word) -> None:
    """Delete a credential; calls that need it are refused from then on."""
    remove(_changeable(access, credential_id), by=actor_of(access))


def check_credential(access: Access, credential_id: Word) -> CredentialOut:
    """Check a credential against its server, and store the result."""
    row = _changeable(access, credential_id)
    check(row)
    return CredentialOut.of(row)


def _visible(access: Access) -> QuerySet[Credential]:
    own = Q(user=None) if access.user_id is None else Q(user=None) | Q(user_id=access.user_id)
    return Credential.objects.filter(own, workspace=access.workspace).select_related("user")


def _changeable(access: Access, credential_id: str) -> Credential:
    rows = _visible(access).filter(pk=row_id(credential_id)).select_related("user", "workspace")
    missing = CredentialNotFoundError(
        "The workspace has no such credential.", remedy=Remedy("credentials.list_credentials")
    )
    row = find_row(rows, missing)
    _check_right(access, row)
    return row


def _check_right(access: Access, row: Credential) -> None:
    (scope,) = MANAGE.scopes
    if row.user_id is None and not access.allows(scope):
        raise ForbiddenError(
            "A credential for all runs of the workspace requires the right to manage it; add a "
            "personal one instead.",
            scope,
        )
