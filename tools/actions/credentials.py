"""Save, check and remove credentials; their secrets are encrypted."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from pydantic import ValidationError

from heartbit_site.base import aio, audit, secrets
from heartbit_site.base.audit import Actor
from heartbit_site.base.credentials import CredentialType, SignInCredential
from heartbit_site.base.errors import ConfigurationError, ConflictError, HeartbitError, about
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.rights import require
from tools.connectors.credential_checks import check_credential as ask
from tools.credentials.values import reveal, split, type_of
from tools.models import Credential
from tools.sign_in.requests import revoke_tokens

#: Fields that decide where the secrets are sent.
_ADDRESS = ("url", "token_url", "issuer", "host", "port", "security")
_IN_THE_BROWSER = (
    "Sign-ins are created in the browser: open the page of the MCP server and connect."
)
_RECORDED = ("name", "kind", "settings", "user_id", "enabled")


def save_credential(credential: Credential, fields: Mapping[str, object], *, by: Actor) -> None:
    """Write a credential's row with the fields of its type.

    Args:
        credential: New or changed row: workspace, person, name, kind and whether it is enabled.
        fields: Fields of the type by name; a missing one keeps its value. Secrets are stored
            encrypted, and an empty secret keeps the present one.
        by: Author, for the audit, which records that secrets changed and never the secrets.

    Raises:
        ConfigurationError: The name is missing; a field is unknown, missing or not valid; or the
        address changed and the secrets were not entered again.
        ConflictError: The workspace, or the person in it, has another credential of that name.
    """
    require(by, "workspace:manage", "runs:write", workspace_id=credential.workspace_id)
    credential.name = credential.name.strip()
    with about("name"):
        _check_name(credential)
    with about("kind"):
        kind = type_of(credential.kind)
    with transaction.atomic():
        before = Credential.objects.select_for_update().filter(pk=credential.pk).first()
        if before is not None and before.kind != credential.kind:
            raise ConfigurationError("A credential's type cannot change; add a new one.")
        if not kind.is_entered and (before is None or before.name != credential.name or fields):
            raise ConfigurationError(_IN_THE_BROWSER)
        given = _without_empty_secrets(kind, fields)
        settings, kept = _merged(before, kind, given)
        credential.settings = settings
        renewed = sorted(given.keys() & set(kind.secret_fields()))
        if before is None or renewed or before.settings != settings:
            credential.healthy, credential.health_message, credential.checked_at = None, "", None
        credential.save()
        secrets.store(credential, "secret", json.dumps(kept) if kept else "")
        old = before if before is not None else Credential()
        changes = audit.changes(old, credential, _RECORDED) | dict.fromkeys(renewed, "not shown")
        if changes or before is None:
            action = f"credential.{'add' if before is None else 'change'}"
            audit.record_on(by, action, credential, details=changes)


def _check_name(credential: Credential) -> None:
    if not credential.name:
        raise ConfigurationError("A credential needs a name, such as support mailbox.")
    if _others(credential).exists():
        raise ConflictError(
            f"Another credential has the name {credential.name!r}: choose another name."
        )


def _without_empty_secrets(
    kind: type[CredentialType], fields: Mapping[str, object]
) -> dict[str, object]:
    hidden = kind.secret_fields()
    return {
        name: one for name, one in fields.items() if name not in hidden or one not in ("", None)
    }


def _merged(
    before: Credential | None, kind: type[CredentialType], given: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, str]]:
    """Return the settings and the secrets of a row, with the given fields changed."""
    settings = dict(before.settings) if before is not None else {}
    kept = secrets.reveal(before, "secret") if before is not None else ""
    hidden: dict[str, str] = json.loads(kept) if kept else {}
    value = _validated(kind, {**settings, **hidden, **given})
    shown, own = split(value)
    moved = [name for name in _ADDRESS if name in settings and settings[name] != shown.get(name)]
    again = [name for name, text in hidden.items() if text and name not in given]
    if moved and again:
        error = ConfigurationError(
            f"Enter {' and '.join(again)} again: {' and '.join(moved)} changed, and a secret is "
            f"sent only to the address that it was entered for."
        )
        error.field = again[0]
        raise error
    return shown, own


def _validated(kind: type[CredentialType], fields: Mapping[str, object]) -> CredentialType:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        # The input is left out of the message: it may be a secret.
        problem = error.errors(include_input=False, include_url=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else ""
        refusal = ConfigurationError(_sentence(name, problem["type"], problem["msg"], kind))
        refusal.field = name
        raise refusal from None


def _sentence(name: str, fault: str, message: str, kind: type[CredentialType]) -> str:
    if fault == "missing":
        return f"{kind.label} needs {name}."
    if fault == "extra_forbidden":
        return f"{kind.label} has no {name}; it has: {', '.join(kind.model_fields)}."
    return f"{name}: {message.removeprefix('Value error, ')}."


def _others(credential: Credential) -> QuerySet[Credential]:
    return Credential.objects.filter(
        workspace=credential.workspace_id, user=credential.user_id, name=credential.name
    ).exclude(pk=credential.pk)


_MAX_BYTES = 1_000_000


def check_credential(credential: Credential) -> None:
    """Check a credential and store the result in its row, within ten seconds."""
    try:
        aio.run(_ask(reveal(credential)))
    except HeartbitError as error:
        credential.healthy, credential.health_message = False, str(error)
    else:
        credential.healthy, credential.health_message = True, ""
    credential.checked_at = timezone.now()
    # Not if it was changed meanwhile: the result is that of what was there before.
    Credential.objects.filter(
        pk=credential.pk, secret=credential.secret, settings=credential.settings
    ).update(
        healthy=credential.healthy,
        health_message=credential.health_message,
        checked_at=credential.checked_at,
    )


async def _ask(value: CredentialType) -> None:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, max_response_bytes=_MAX_BYTES) as http:
        await ask(value, http)


def remove_credential(credential: Credential, *, by: Actor) -> str:
    """Delete a credential; later calls that need it are refused.

    Returns:
        The outcome of revoking a sign-in's tokens, as a sentence; empty for other credentials.

    Raises:
        ForbiddenError: The credential is another person's, or the whole workspace's, and the author
            does not manage the workspace.
    """
    is_own = credential.user_id is not None and credential.user_id == by.user_id
    scope = "runs:write" if is_own else "workspace:manage"
    require(by, scope, workspace_id=credential.workspace_id)
    with transaction.atomic():
        # Under the lock, which a renewal of the tokens holds as well.
        row = Credential.objects.select_for_update(of=("self",)).filter(pk=credential.pk).first()
        value = None if row is None or row.kind != SignInCredential.kind else reveal(row)
        audit.record_on(by, "credential.delete", credential, details={"kind": credential.kind})
        credential.delete()
    return revoke_tokens(value) if isinstance(value, SignInCredential) else ""
