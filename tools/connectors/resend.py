"""Sending of mails through Resend's API (https://resend.com/docs/api-reference/emails)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from pydantic import Field

from heartbit_site.base.credentials import Key, Url, UrlCredential
from tools.connectors.service import ServiceError, read_json
from tools.credentials.http_auth import bearer

if TYPE_CHECKING:
    import httpx

    from tools.connectors.letter import Letter


class ResendCredential(UrlCredential):
    """An account at Resend, and the address that mail is sent from."""

    kind = "resend"
    label = "Outgoing mail (Resend)"

    url: Url = "https://api.resend.com"
    key: Key
    sender: str = Field(min_length=3, max_length=320, description="Address that mail comes from.")


async def send_with_resend(
    account: ResendCredential, letter: Letter, http: httpx.AsyncClient
) -> str:
    """Send a mail; return Resend's id of it.

    Raises:
        ServiceError: Resend refuses, or answers something else.
        httpx.HTTPError: Resend cannot be reached.
    """
    body = {
        "from": str(letter.sender),
        "to": [str(address) for address in letter.to],
        "cc": [str(address) for address in letter.cc],
        "bcc": [str(address) for address in letter.bcc],
        "reply_to": [str(address) for address in letter.reply_to],
        "subject": letter.subject,
        "text": letter.text,
        "html": letter.html,
        "attachments": [
            {"filename": file.name, "content": base64.b64encode(file.content).decode()}
            for file in letter.files
        ],
    }
    response = await http.post(
        f"{account.url.rstrip('/')}/emails",
        json={name: value for name, value in body.items() if value},
        headers={**bearer(account.key), "Idempotency-Key": letter.key},
        follow_redirects=False,
    )
    answer = read_json(response, "Resend", account)
    sent = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(sent, str):
        raise ServiceError("Resend answers without the id of a mail: it may have been sent.")
    return sent[:100]
