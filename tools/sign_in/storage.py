"""Rows of sign-ins: the name that calls look for, and what is stored of the tokens."""

from __future__ import annotations

import json
import time
from typing import Any

from heartbit_site.base import secrets
from heartbit_site.base.credentials import SignInCredential
from tools.credentials.oauth import TokenAnswer
from tools.credentials.values import split
from tools.models import Credential, McpServer


def sign_in_name(server: str) -> str:
    """Return the name of the credentials that are sign-ins at a server."""
    return f"{server} sign-in"


def find_sign_in(server: McpServer, user_id: int | None) -> Credential | None:
    """Return the stored sign-in of a person, or of the workspace (None), at a server."""
    rows = Credential.objects.filter(
        workspace=server.workspace_id, user=user_id, name=sign_in_name(server.name)
    )
    return rows.filter(kind=SignInCredential.kind).first()


def renewed(value: SignInCredential, tokens: TokenAnswer) -> SignInCredential:
    """Return a sign-in with new tokens; a refresh token that was not replaced stays."""
    return type(value).model_validate(
        {
            **_fields(value),
            "access_token": tokens.access_token,
            "refresh_token": tokens.refresh_token or value.refresh_token.get_secret_value(),
            "scope": tokens.scope or value.scope,
            "expires_at": time.time() + tokens.seconds,
        }
    )


def store(row: Credential, value: SignInCredential, *, fault: str = "") -> None:
    """Write a sign-in into its locked row.

    Args:
        row: The row; a new one is given its id first.
        value: The sign-in.
        fault: Why it gives no access; empty: it does.
    """
    shown, hidden = split(value)
    row.settings = shown
    row.healthy, row.health_message = not fault, fault
    if row._state.adding:
        row.save()
    row.secret = secrets.seal(row, "secret", json.dumps(hidden))
    row.save()


def _fields(value: SignInCredential) -> dict[str, Any]:
    shown, hidden = split(value)
    return {**shown, **hidden, "row_id": value.row_id}
