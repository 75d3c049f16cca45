"""The way in: messages that programs post to a channel, signed with its secret."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from django.utils import timezone
from ninja import Router
from ninja.responses import Status as Answer

from agents.actions.accept_message import Accepted, accept_message
from agents.actions.receive_mail import receive_mail
from agents.choices import ChannelKind
from agents.errors import ForgedMessageError
from agents.inbound.mapping import check_mapping, read_body
from agents.inbound.message import Inbound
from agents.inbound.signature import REFUSAL, verify
from agents.models import Channel
from heartbit_site.api.auth import known_by, refuse_unknown
from heartbit_site.api.bodies import UntrustedParser
from heartbit_site.api.channel_outputs import TakenOut
from heartbit_site.api.fields import Word  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm

if TYPE_CHECKING:
    from pydantic import JsonValue

router = Router(tags=["channels"])

_NOTHING = {"run": None, "conversation": None, "repeated": False}
_LONGEST_THREAD = 200
_BODY: dict[str, Any] = {
    "parameters": [
        {
            "name": name,
            "in": "header",
            "required": True,
            "schema": {"type": "string"},
            "description": meaning,
        }
        for name, meaning in (
            ("webhook-id", "Of the message: the same one is taken once."),
            ("webhook-timestamp", "Seconds since 1970, within 5 minutes of now."),
            ("webhook-signature", "v1,BASE64 of the HMAC-SHA256 of id.timestamp.body."),
        )
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {}},
            "message/rfc822": {"schema": {"type": "string"}},
        },
    },
}


@router.post(
    "/in/{address}",
    auth=None,
    response=answers(TakenOut, 409, status=202, body=True),
    summary="Send a message to a channel",
    openapi_extra=_BODY,
)
async def receive(request: HttpRequest, address: Word) -> Any:
    """JSON to a webhook's channel, a whole mail (RFC 5322) to one of e-mail; no key is needed.

    It is signed as Standard Webhooks has it. `run` is null if nobody answers: the channel does not
    want such messages, or the mail's sender may not write to it.
    """
    return Answer(202, await orm.in_thread(lambda: _take(request, address)))


def _take(request: HttpRequest, address: str) -> dict[str, Any]:
    rows = Channel.objects.select_related("workspace").filter(address=address)
    channel = rows.first()
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        if channel is None:
            raise ForgedMessageError(REFUSAL)  # as if it were there: nobody learns which there are
        message_id = verify(channel, headers, request.body, timezone.now())
    except ForgedMessageError as error:
        raise refuse_unknown(request, error) from None
    known_by(f"channel:{channel.pk}")
    if channel.kind == ChannelKind.EMAIL:
        return _form(receive_mail(channel, request.body))
    return _of_body(channel, message_id, UntrustedParser().parse_body(request))


def _of_body(channel: Channel, message_id: str, body: JsonValue) -> dict[str, Any]:
    found = read_body(check_mapping(channel.mapping), body)
    if found is None:
        return _NOTHING
    task = found.task if channel.mapping.get("task") else _introduced(channel, found.task)
    inbound = Inbound(
        external_id=message_id,
        text=task,
        sender=found.sender,
        title=found.title or channel.name,
        thread=_name_of(found.conversation),
    )
    return _form(accept_message(channel, inbound))


def _name_of(thread: str) -> str:
    """What is longer than the column is told apart by its hash."""
    return thread if len(thread) <= _LONGEST_THREAD else sha256(thread.encode()).hexdigest()


def _introduced(channel: Channel, body: str) -> str:
    return f"A message has come in by {json.dumps(channel.name, ensure_ascii=False)}:\n\n{body}"


def _form(taken: Accepted) -> dict[str, Any]:
    return {
        "run": str(taken.run_id) if taken.run_id else None,
        "conversation": str(taken.conversation_id) if taken.conversation_id else None,
        "repeated": taken.repeated,
    }
