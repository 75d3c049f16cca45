"""The tool that sends mail, over SMTP or Resend's API (https://resend.com/docs/api-reference/emails)."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from heartbit_site.base import orm
from heartbit_site.base.artifact_names import stored_file
from heartbit_site.base.credentials import Key, SmtpCredential, Url, UrlCredential
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.connectors.letter import (
    MOST_RECIPIENTS,
    AttachedFile,
    Letter,
    UnusableMailError,
    write_letter,
)
from tools.connectors.service import ServiceError, read_json
from tools.credentials.http_auth import bearer
from tools.mail.server import MailServer
from tools.mail.smtp import open_outbox

if TYPE_CHECKING:
    import httpx


class ResendCredential(UrlCredential):
    """An account at Resend, and its sender address."""

    kind = "resend"
    label = "Outgoing mail (Resend)"

    url: Url = "https://api.resend.com"
    key: Key
    sender: str = Field(min_length=3, max_length=320, description="Address that mail comes from.")


async def send_with_resend(
    account: ResendCredential, letter: Letter, http: httpx.AsyncClient
) -> str:
    """Send a mail; return its id at Resend.

    Raises:
        ServiceError: Resend refuses the mail, or its response is not the documented one.
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
        raise ServiceError("Resend's response has no mail id: the mail may have been sent.")
    return sent[:100]


TIMEOUT_SECONDS = 60.0
_MARGIN_SECONDS = 2.0  # so that a slow server yields a clear error instead of a timeout

Addresses = Annotated[
    list[str],
    Field(
        max_length=MOST_RECIPIENTS,
        description="E-mail addresses, such as ada@example.org or Ada <ada@example.org>.",
    ),
]
Text = Annotated[
    str, Field(min_length=1, max_length=200_000, description="The mail as plain text.")
]
Html = Annotated[
    str, Field(max_length=400_000, description="The mail as HTML too, if it needs a layout.")
]
Artifacts = Annotated[
    list[Annotated[str, Field(max_length=200)]],
    Field(max_length=20, description="Names of artifacts of this run to attach."),
]


@tool(
    effect=Effect.AT_MOST_ONCE,
    timeout_seconds=TIMEOUT_SECONDS,
    tags=("connector", "mail"),
    labels=(Label.OUTBOUND,),
    summary="E-mail to {to}: {subject}",
)
async def send_email(
    context: ToolContext,
    mail: SmtpCredential | ResendCredential,
    to: Addresses,
    subject: Annotated[str, Field(min_length=1, max_length=500)],
    text: Text,
    html: Html = "",
    cc: Addresses = [],  # noqa: B006  never changed
    bcc: Addresses = [],  # noqa: B006  never changed
    reply_to: Annotated[
        str, Field(max_length=320, description="Address for answers, if not the sender's.")
    ] = "",
    artifacts: Artifacts = [],  # noqa: B006  never changed
) -> str:
    """Send an e-mail. The sender's address belongs to the mail account and cannot be chosen.

    The mail is sent to all recipients or, if one is refused, to none.
    """
    files = await orm.run_in_thread(partial(_attached, context, artifacts)) if artifacts else ()
    letter = write_letter(
        mail.sender,
        to=to,
        cc=cc,
        bcc=bcc,
        reply_to=reply_to,
        subject=subject,
        text=text,
        html=html,
        key=context.idempotency_key,
        files=files,
    )
    if isinstance(mail, ResendCredential):
        sent = await send_with_resend(mail, letter, context.http)
    else:
        sent = await asyncio.to_thread(_send, mail, letter, _seconds_left(context))
    return f"Sent to {', '.join(letter.recipients)} ({sent})."


def server_of(mail: SmtpCredential) -> MailServer:
    """Return the server of a credential, with its login."""
    return MailServer(
        host=mail.host,
        port=mail.port,
        security=mail.security,
        user=mail.username,
        password=mail.password.get_secret_value(),
    )


def _attached(context: ToolContext, artifacts: list[str]) -> tuple[AttachedFile, ...]:
    if context.read_artifact is None:
        raise UnusableMailError("No artifact store here: send the mail without attachments.")
    return tuple(
        AttachedFile(stored_file(name) or name, context.read_artifact(name))
        for name in dict.fromkeys(artifacts)
    )


def _send(mail: SmtpCredential, letter: Letter, seconds: float) -> str:
    with open_outbox(server_of(mail), seconds=seconds) as outbox:
        outbox.hand_over(letter.sender.addr_spec, letter.recipients, letter.as_bytes())
    return letter.message_id


def _seconds_left(context: ToolContext) -> float:
    if context.deadline is None:
        return TIMEOUT_SECONDS
    left = (context.deadline - datetime.now(UTC)).total_seconds()
    return max(left - _MARGIN_SECONDS, 1.0)
