"""Connectors that take an address reach no internal one, however it is written (S1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from heartbit_site.base.credentials import CalDavCredential, S3Credential
from heartbit_site.base.errors import HeartbitError
from tests.base.loopback import serving
from tests.base.test_http_guard import HOSTS, ODD_URLS, client
from tools.connectors.calendars.google import GoogleCalendarCredential
from tools.connectors.credential_checks import check_credential

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SECRET = SecretStr("canary-5150")


async def s3(url: str, http: httpx.AsyncClient) -> None:
    await check_credential(
        S3Credential(url=url, bucket="b", access_key="a", secret_key=SECRET), http
    )


async def caldav(url: str, http: httpx.AsyncClient) -> None:
    await check_credential(CalDavCredential(url=url, username="ann", password=SECRET), http)


async def google(url: str, http: httpx.AsyncClient) -> None:
    await check_credential(
        GoogleCalendarCredential(
            url=url, token_url=url, client_id="c", client_secret=SECRET, refresh_token=SECRET
        ),
        http,
    )


@pytest.mark.parametrize("check", [s3, caldav, google])
async def test_no_vector_reaches_the_internal_server(
    check: Callable[[str, httpx.AsyncClient], Awaitable[None]],
) -> None:
    tried = 0
    async with serving() as internal, client(internal.port) as http:
        urls = [f"http://{host}:{internal.port}/" for host in HOSTS]
        urls += [url.format(port=internal.port) for url in ODD_URLS]
        for url in urls:
            with pytest.raises((HeartbitError, httpx.HTTPError, ValidationError)) as refused:
                await check(url, http)
            assert SECRET.get_secret_value() not in str(refused.value)
            tried += not isinstance(refused.value, ValidationError)
        assert internal.connections == 0
    assert tried >= 60
