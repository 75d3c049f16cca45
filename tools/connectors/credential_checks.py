"""Checks of credentials against their services, by type.

A check changes nothing at the service: it logs in, or reads something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import httpx

from heartbit_site.base import credentials
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.webhook_signature import signature_headers
from tools.connectors.calendars.caldav import CalDavCalendar
from tools.connectors.calendars.google import GoogleCalendar, GoogleCalendarCredential
from tools.connectors.drive.bucket import BucketDrive
from tools.connectors.letter import read_sender
from tools.connectors.mailbox import account_of
from tools.connectors.send_email import ResendCredential, server_of
from tools.connectors.service import read_json
from tools.connectors.web_search import BraveCredential, SearxngCredential, search_web
from tools.credentials.hiding import hide_secrets
from tools.credentials.http_auth import HttpCredential, authorize, bearer
from tools.credentials.oauth import access_token, forget_token
from tools.mail.imap import open_mailbox
from tools.mail.smtp import open_outbox

CHECK_SECONDS = 10.0


class CheckError(HeartbitError):
    """A credential does not work, or its type has no check."""


async def check_credential(value: credentials.CredentialType, http: httpx.AsyncClient) -> None:
    """Return if the service accepts a credential.

    Args:
        value: The credential.
        http: The guarded client.

    Raises:
        HeartbitError: The service refuses it, is unreachable, or takes longer than
            ``CHECK_SECONDS``; the message contains no secret.
    """
    check = _CHECKS.get(type(value))
    if check is None:
        raise CheckError(f"There is no check for the type {value.label}: try a tool that uses it.")
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await check(value, http)
    except TimeoutError:
        raise CheckError(f"The service did not answer within {CHECK_SECONDS:g} seconds.") from None
    except httpx.HTTPError as error:
        words = hide_secrets(str(error) or type(error).__name__, value).rstrip(".")
        raise CheckError(f"The service cannot be reached: {words}.") from None


async def _check_smtp(value: credentials.SmtpCredential, http: httpx.AsyncClient) -> None:
    read_sender(value.sender)

    await asyncio.to_thread(_visit, open_outbox(server_of(value), seconds=CHECK_SECONDS))


async def _check_imap(value: credentials.ImapCredential, http: httpx.AsyncClient) -> None:
    await asyncio.to_thread(_visit, open_mailbox(account_of(value), seconds=CHECK_SECONDS))


def _visit(server: AbstractContextManager[object]) -> None:
    with server:
        pass


async def _check_http(
    value: HttpCredential | credentials.QueryKeyCredential, http: httpx.AsyncClient
) -> None:
    url, headers = await authorize(value, value.url, http)
    response = await http.get(url, headers=headers, follow_redirects=False)
    if response.status_code in (401, 403):
        raise CheckError(
            f"{value.url} refused the credential: {response.status_code} {response.reason_phrase}."
        )


async def _check_oauth(value: credentials.OAuthClientCredential, http: httpx.AsyncClient) -> None:
    forget_token(value)
    await access_token(value, http)


async def _check_signing(value: credentials.SigningCredential, http: httpx.AsyncClient) -> None:
    signature_headers([value.secret.get_secret_value()], "msg_check", datetime.now(UTC), b"")


async def _check_resend(value: ResendCredential, http: httpx.AsyncClient) -> None:
    response = await http.get(
        f"{value.url.rstrip('/')}/domains", headers=bearer(value.key), follow_redirects=False
    )
    # A key that is restricted to sending is refused here with a distinct error name.
    if b'"restricted_api_key"' not in response.content:
        read_json(response, "Resend", value)


async def _check_search(
    value: BraveCredential | SearxngCredential, http: httpx.AsyncClient
) -> None:
    await search_web(value, http, "heartbit", count=1)


_Check = Callable[[Any, httpx.AsyncClient], Awaitable[object]]
_CHECKS: dict[type[credentials.CredentialType], _Check] = {
    credentials.SmtpCredential: _check_smtp,
    credentials.ImapCredential: _check_imap,
    credentials.BearerCredential: _check_http,
    credentials.ApiKeyCredential: _check_http,
    credentials.QueryKeyCredential: _check_http,
    credentials.BasicCredential: _check_http,
    credentials.OAuthClientCredential: _check_oauth,
    credentials.SigningCredential: _check_signing,
    ResendCredential: _check_resend,
    BraveCredential: _check_search,
    SearxngCredential: _check_search,
    credentials.CalDavCredential: lambda value, http: CalDavCalendar(http, value).collections(),
    GoogleCalendarCredential: lambda value, http: GoogleCalendar(http, value).check(),
    credentials.S3Credential: lambda value, http: BucketDrive(http, value).check(),
}
