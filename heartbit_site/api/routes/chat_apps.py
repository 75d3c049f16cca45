"""Requests of chat services: clicks and commands of their users, signed by the service."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from ninja import Router

from agents.actions.decide_in_chat import receive_request
from agents.chat_apps.slack import REFUSAL
from agents.errors import InvalidSignatureError
from agents.models import ChatApp
from heartbit_site.api.auth import address_of, refuse_unknown
from heartbit_site.api.errors import TooLargeError, describe_limit
from heartbit_site.api.json_parser import MAX_BODY_BYTES
from heartbit_site.api.openapi import answers
from heartbit_site.api.rate_limit import rate_limiter
from heartbit_site.base.secrets import SecretError
from heartbit_site.contract.chat_apps import ChatReplyOut
from heartbit_site.contract.model import Word

logger = logging.getLogger(__name__)

router = Router(tags=["chat_apps"])

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
            ("x-slack-request-timestamp", "Seconds since 1970, within 5 minutes of now."),
            ("x-slack-signature", "v0=HEX of the HMAC-SHA256 of v0:timestamp:body."),
        )
    ],
    "requestBody": {
        "required": True,
        "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}},
    },
}


@router.post(
    "/chat-apps/{events_token}/events",
    auth=None,
    response=answers(ChatReplyOut, body=True),
    operation_id="receive_chat_event",
    summary="Act on an event of a chat app",
    openapi_extra=_BODY,
)
def receive(request: HttpRequest, events_token: Word) -> Any:
    """Decide what a linked member clicked in a chat app; without a key, signed by its service."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    app = ChatApp.objects.select_related("workspace").filter(url_token=events_token, enabled=True)
    try:
        if len(request.body) > MAX_BODY_BYTES:
            raise TooLargeError(describe_limit(MAX_BODY_BYTES))
        found = app.first()
        if found is None:  # as if it were there: nobody learns which there are
            raise InvalidSignatureError(REFUSAL)
        rate_limiter().take(f"chat:{found.pk}")
        said = receive_request(found, headers, request.body, timezone.now())
        return JsonResponse(said) if said else HttpResponse()  # Slack takes only an empty body
    except RequestDataTooBig:
        raise refuse_unknown(
            address_of(request), TooLargeError(describe_limit(MAX_BODY_BYTES))
        ) from None
    except (TooLargeError, InvalidSignatureError) as error:
        raise refuse_unknown(address_of(request), error) from None
    except SecretError as error:
        logger.error("%s", error)
        raise refuse_unknown(address_of(request), InvalidSignatureError(REFUSAL)) from None
