"""Inbound messages: programs post them to a channel, signed with its secret."""

from __future__ import annotations

import json
import logging
from hashlib import sha256
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from django.utils import timezone
from ninja import Router
from ninja.responses import Status as Answer
from pydantic import JsonValue

from agents.actions.receive_message import accept_message, receive_mail, refuse_message
from agents.choices import ChannelKind
from agents.errors import (
    ChannelClosedError,
    EmptyTaskError,
    InvalidMappingError,
    InvalidSignatureError,
    MessageTooLongError,
    MissingFieldError,
    NotNowError,
    TooManyMessagesError,
)
from agents.inbound.mapping import check_mapping, read_body
from agents.inbound.messages import Inbound
from agents.inbound.signature import REFUSAL, verify
from agents.models import Channel
from heartbit_site.api.auth import address_of, refuse_unknown
from heartbit_site.api.errors import MalformedBodyError, TooLargeError, describe_limit
from heartbit_site.api.json_parser import MAX_BODY_BYTES, UntrustedParser
from heartbit_site.api.openapi import answers
from heartbit_site.api.rate_limit import rate_limiter
from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError
from heartbit_site.base.secrets import SecretError
from heartbit_site.contract.channels import InboundReceiptOut
from heartbit_site.contract.model import Word
from tools.mail.errors import UnreadableMailError

logger = logging.getLogger(__name__)

router = Router(tags=["channels"])

_NOTHING = InboundReceiptOut(run_id=None, conversation_id=None, duplicate=False)
_LONGEST_THREAD = 200
_MOST_SAID = 500
_LEFT_OUT = "`only` of the channel's mapping leaves the message out."
#: Refusals of a signed message for its content.
_UNUSABLE = (
    EmptyTaskError,
    InvalidMappingError,
    MalformedBodyError,
    MessageTooLongError,
    MissingFieldError,
    UnreadableMailError,
)
CLOSED = "The channel takes no messages now; those who run it see why. Send it again later."
FULL = "The channel takes no more messages for now: send it again after Retry-After seconds."
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
            ("webhook-id", "Id of the message, which is accepted once."),
            ("webhook-timestamp", "Seconds since 1970, within 5 minutes of now."),
            ("webhook-signature", "v1,BASE64 of the HMAC-SHA256 of id.timestamp.body."),
        )
    ],
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {}}},
    },
}


@router.post(
    "/inbound/{endpoint}",
    auth=None,
    response=answers(InboundReceiptOut, 409, status=202, body=True),
    operation_id="receive_message",
    summary="Send a message to a channel",
    openapi_extra=_BODY,
)
def receive(request: HttpRequest, endpoint: Word) -> Any:
    """Accept JSON for a webhook channel, a mail (RFC 5322) for an e-mail channel; without a key.

    It is signed as in Standard Webhooks. `run_id` is null if no run answers: the channel ignores
    such messages, or the mail's sender may not write to it.
    """
    return Answer(202, _take(request, endpoint))


def _take(request: HttpRequest, endpoint: str) -> InboundReceiptOut:
    channel, message_id = _verified(request, endpoint)
    rate_limiter().take(f"channel:{channel.pk}")
    try:
        if channel.kind == ChannelKind.EMAIL:
            return InboundReceiptOut.of(receive_mail(channel, request.body))
        return _of_body(channel, message_id, UntrustedParser().parse_body(request))
    except NotNowError as error:
        _note(channel, error)
        raise TooManyMessagesError(FULL, error.seconds) from None
    except (NotFoundError, ConflictError, SecretError) as error:
        # Of how things stand inside, whoever sends learns nothing.
        _note(channel, error)
        raise ChannelClosedError(CLOSED) from None
    except _UNUSABLE as error:
        refuse_message(channel, _name_of_refused(message_id), str(error))
        raise


def _verified(request: HttpRequest, endpoint: str) -> tuple[Channel, str]:
    """Return the channel of a signed message, and the message's id."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    channel = Channel.objects.select_related("workspace").filter(url_token=endpoint).first()
    try:
        if len(request.body) > MAX_BODY_BYTES:
            raise TooLargeError(describe_limit(MAX_BODY_BYTES))
        if channel is None:
            raise InvalidSignatureError(
                REFUSAL
            )  # as if it were there: nobody learns which there are
        return channel, verify(channel, headers, request.body, timezone.now())
    except RequestDataTooBig:
        raise refuse_unknown(
            address_of(request), TooLargeError(describe_limit(MAX_BODY_BYTES))
        ) from None
    except (TooLargeError, InvalidSignatureError) as error:
        raise refuse_unknown(address_of(request), error) from None
    except SecretError as error:
        logger.error("%s", error)
        raise refuse_unknown(address_of(request), InvalidSignatureError(REFUSAL)) from None


def _note(channel: Channel, error: HeartbitError) -> None:
    """Record, for the channel's managers, why it accepts no messages."""
    logger.warning("channel %s accepted no message: %s", channel.pk, error)
    Channel.objects.filter(pk=channel.pk).update(last_error=str(error)[:_MOST_SAID])


def _of_body(channel: Channel, message_id: str, body: JsonValue) -> InboundReceiptOut:
    found = read_body(check_mapping(channel.mapping), body)
    if found is None:
        refuse_message(channel, _name_of_refused(message_id), _LEFT_OUT)
        return _NOTHING
    task = found.task if channel.mapping.get("task") else _introduced(channel, found.task)
    inbound = Inbound(
        external_id=message_id,
        text=task,
        sender=found.sender,
        title=found.title or channel.name,
        thread=_name_of(found.conversation),
    )
    return InboundReceiptOut.of(accept_message(channel, inbound))


def _name_of_refused(message_id: str) -> str:
    return sha256(message_id.encode()).hexdigest()


def _name_of(thread: str) -> str:
    """Return a name that fits the column: a longer one ends in its hash."""
    return thread if len(thread) <= _LONGEST_THREAD else sha256(thread.encode()).hexdigest()


def _introduced(channel: Channel, body: str) -> str:
    return f"A message has come in by {json.dumps(channel.name, ensure_ascii=False)}:\n\n{body}"
