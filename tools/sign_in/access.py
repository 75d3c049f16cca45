"""Access tokens of stored sign-ins, renewed by one worker at a time.

A refresh token may be good for one use only, so a renewal holds the lock of the credential's row
while it asks: a worker that waited finds the new token. The requests have threads of their own, so
that a slow authorization server takes none from the rest of the process.
"""

from __future__ import annotations

import asyncio
import functools
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import httpx
from django.db import connection, transaction

from heartbit_site.base import aio
from heartbit_site.base.credentials import SignInCredential
from heartbit_site.base.errors import HeartbitError
from tools.credentials.oauth import TokenAnswer, TokenRefusedError
from tools.credentials.values import reveal
from tools.models import Credential
from tools.sign_in.errors import SignInLapsedError
from tools.sign_in.http import sign_in_client
from tools.sign_in.storage import renewed, store
from tools.sign_in.token_request import request_tokens

MARGIN_SECONDS: Final = 30.0
_THREADS: Final = 2
_LAPSED: Final = "The server does not accept it any more: sign in again."


async def access_token(value: SignInCredential, *, refused: str = "") -> str:
    """Return an access token of a sign-in, renewed if it ends soon.

    Args:
        value: The sign-in as it was read.
        refused: A token that the server has just refused: another one is wanted.

    Raises:
        SignInLapsedError: There is none: the person has to sign in again.
        HeartbitError: The authorization server fails; no text has a secret.
        httpx.HTTPError: It cannot be reached.
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
    """Return the sign-in with a usable token; None: it has lapsed, which its row says now."""
    row = Credential.objects.select_for_update().filter(pk=row_id, enabled=True).first()
    if row is None:
        return None
    value = reveal(row)
    if not isinstance(value, SignInCredential):
        raise TypeError(f"the credential {row_id} is no sign-in")
    if _is_usable(value, refused):
        return value  # another worker renewed it meanwhile
    if not value.refresh_token.get_secret_value():
        store(row, _without_tokens(value), fault=_LAPSED)
        return None
    try:
        value = renewed(value, aio.run(_ask(value)))
    except TokenRefusedError:
        store(row, _without_tokens(value), fault=_LAPSED)
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
            return await request_tokens(
                value.token_url,
                form,
                http,
                client_id=value.client_id,
                client_secret=value.client_secret.get_secret_value(),
                method=value.method,
            )
        except httpx.HTTPError as error:
            words = str(error).rstrip(".") or type(error).__name__
            raise HeartbitError(f"{value.issuer} cannot be reached: {words}.") from None


def _without_tokens(value: SignInCredential) -> SignInCredential:
    return SignInCredential.model_validate(
        value.model_dump(exclude={"client_secret", "access_token", "refresh_token"})
        | {
            "row_id": value.row_id,
            "client_secret": value.client_secret.get_secret_value(),
            "access_token": "",
            "expires_at": 0.0,
        }
    )
