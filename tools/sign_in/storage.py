"""Rows of sign-ins: lookup by name, and token renewal by one worker at a time.

A refresh token may be valid for one use only, so a renewal holds the lock of the credential's row
during its request: a worker that waited finds the new token. The requests have their own threads,
so that a slow authorization server does not block other work of the process.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import httpx
from django.db import connection, transaction

from heartbit_site.base import aio, secrets
from heartbit_site.base.credentials import SignInCredential
from heartbit_site.base.errors import HeartbitError
from tools.credentials.oauth import TokenAnswer, TokenRefusedError
from tools.credentials.values import reveal, split
from tools.models import Credential, McpServer
from tools.sign_in.errors import SignInLapsedError
from tools.sign_in.requests import client_of, request_tokens, sign_in_client


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
    """Return a sign-in with new tokens; the refresh token is kept if it was not replaced."""
    return _changed(
        value,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or value.refresh_token.get_secret_value(),
        scope=tokens.scope or value.scope,
        expires_at=time.time() + tokens.seconds,
    )


def _changed(value: SignInCredential, **fields: object) -> SignInCredential:
    shown, hidden = split(value)
    return type(value).model_validate({**shown, **hidden, "row_id": value.row_id, **fields})


def store(row: Credential, value: SignInCredential, *, fault: str = "") -> None:
    """Write a sign-in into its locked row.

    Args:
        row: The row; a new one is given its id first.
        value: The sign-in.
        fault: Why it gives no access; empty if it is valid.
    """
    shown, hidden = split(value)
    row.settings = shown
    row.healthy, row.health_message = not fault, fault
    if row._state.adding:
        row.save()
    row.secret = secrets.seal(row, "secret", json.dumps(hidden))
    row.save()


MARGIN_SECONDS: Final = 30.0
_THREADS: Final = 2
_LAPSED: Final = "The server no longer accepts it: sign in again."


async def access_token(value: SignInCredential, *, refused: str = "") -> str:
    """Return an access token of a sign-in, renewed if it ends soon.

    Args:
        value: The sign-in as it was read.
        refused: A token that the server has just refused, and that must be replaced.

    Raises:
        SignInLapsedError: No token is available: the person must sign in again.
        HeartbitError: The authorization server fails; no message contains a secret.
        httpx.HTTPError: The server cannot be reached.
    """
    if _is_usable(value, refused):
        return value.access_token.get_secret_value()
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads(), partial(_renewed, value.row_id, refused))


def _is_usable(value: SignInCredential, refused: str) -> bool:
    token = value.access_token.get_secret_value()
    return bool(token) and token != refused and value.expires_at - MARGIN_SECONDS > time.time()


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="sign-in")


def _renewed(row_id: int, refused: str) -> str:
    try:
        with transaction.atomic():
            value = _renew(row_id, refused)
    finally:
        connection.close()  # the thread may idle for an hour
    if value is None:
        raise SignInLapsedError(_LAPSED)
    return value.access_token.get_secret_value()


def _renew(row_id: int, refused: str) -> SignInCredential | None:
    """Return the sign-in with a usable token; None if it has lapsed, which is stored in its row."""
    row = Credential.objects.select_for_update().filter(pk=row_id, enabled=True).first()
    if row is None:
        return None
    value = reveal(row)
    if not isinstance(value, SignInCredential):
        raise TypeError(f"the credential {row_id} is not a sign-in")
    if _is_usable(value, refused):
        return value  # another worker has renewed it
    try:
        if not value.refresh_token.get_secret_value():
            raise TokenRefusedError(_LAPSED)
        value = renewed(value, aio.run(_ask(value)))
    except TokenRefusedError:
        lapsed = _changed(value, access_token="", refresh_token="", expires_at=0.0)
        store(row, lapsed, fault=_LAPSED)
        return None
    store(row, value)
    return value


async def _ask(value: SignInCredential) -> TokenAnswer:
    form = {
        "grant_type": "refresh_token",
        "refresh_token": value.refresh_token.get_secret_value(),
        "resource": value.resource,
    }
    async with sign_in_client() as http:
        try:
            return await request_tokens(value.token_url, form, http, client_of(value))
        except httpx.HTTPError as error:
            words = str(error).rstrip(".") or type(error).__name__
            raise HeartbitError(f"{value.issuer} cannot be reached: {words}.") from None
