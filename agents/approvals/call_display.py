"""Tool call that a person decides: as every surface shows it, and the links that decide it.

A link opens while its call waits; a decided call refuses further decisions, so a link works once.
A person who has left the workspace since it was sent cannot use it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import httpx
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing

from agents.approvals.call_view import CallDisplayOut, HostOut, PieceOut, ShownArgumentOut
from agents.errors import CallClosedError
from agents.journal.waits import REVIEW
from agents.models import ToolCall, Wait
from agents.querysets import shown_tool
from heartbit_site.base.access import Access, NoWorkspaceError, access_of_user
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.rights import describe_refusal
from heartbit_site.base.visible_text import readable_json, split_hidden, visible

_KINDS: Final = {str: "text", bool: "yes or no", int: "number", float: "number", dict: "object"}
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>]+", re.IGNORECASE)
_MOST_HOSTS: Final = 50
_SAFE: Final = 2**53 - 1  # a browser's numbers hold every integer up to here


def display_call(call: ToolCall, arguments: Mapping[str, Any], reason: str) -> CallDisplayOut:
    """Return the content of a call's card.

    Args:
        call: The call that waits for a person.
        arguments: Arguments that it would run with, or was made with, in the order to show.
        reason: Reason for the question.
    """
    tool = shown_tool(call)
    shown = [_argument(name, value) for name, value in arguments.items()]
    pieces_shown = [piece for one in shown for piece in (*one.name, *one.value)]
    return CallDisplayOut(
        tool=_parts(tool),
        requested_name=[] if call.tool == tool else _parts(call.tool),
        reason=_parts(reason),
        effect=describe_effect(call.effect),
        arguments=shown,
        hosts=_hosts(arguments),
        hidden_character_count=sum(piece.escaped for piece in pieces_shown),
        arguments_json=readable_json(arguments),
        is_javascript_safe=all(abs(one) <= _SAFE for one in _leaves(arguments) if type(one) is int),
    )


def _argument(name: str, value: object) -> ShownArgumentOut:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    kind = "nothing" if value is None else _KINDS.get(type(value), "list")
    return ShownArgumentOut(name=_parts(name), kind=kind, value=_parts(text))


def _parts(text: str) -> list[PieceOut]:
    found = enumerate(split_hidden(text))
    return [PieceOut(text=piece, escaped=bool(index % 2)) for index, piece in found if piece]


def _hosts(arguments: Mapping[str, Any]) -> list[HostOut]:
    """Return where the addresses among the arguments lead, as the network spells it."""
    found: dict[tuple[str, str], None] = {}
    for name, value in arguments.items():
        for text in _leaves(value):
            for address in _URL.findall(text) if isinstance(text, str) else ():
                found[visible(name), _host(address)] = None
                if len(found) >= _MOST_HOSTS:
                    break
    return [HostOut(argument=name, host=host) for name, host in found]


def _host(address: str) -> str:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        return "no address that can be reached"
    host = url.raw_host.decode("ascii")
    return f"{host}:{url.port}" if url.port is not None else host


def _leaves(value: object) -> Iterator[object]:
    """Yield the values in a JSON value that hold no others, and the names of its objects."""
    match value:
        case dict():
            for name, one in value.items():
                yield name
                yield from _leaves(one)
        case list():
            for one in value:
                yield from _leaves(one)
        case _:
            yield value


_SALT = "heartbit.approval-link.1"
_SCOPE = "approvals:decide"


@dataclass(frozen=True, slots=True)
class OpenedReview:
    """A valid link to the review of a run's result.

    Attributes:
        wait: Its wait, open or not.
    """

    access: Access
    wait: Wait


@dataclass(frozen=True, slots=True)
class Opened:
    """A valid link: its person's access, and its call.

    Attributes:
        digest: Digest of the call when the link was sent; a decision on another digest is refused.
    """

    access: Access
    call: ToolCall
    digest: str


def token_of(call: ToolCall, user_id: int) -> str:
    """Return the last part of the link's URL, for one person."""
    content = [str(call.run_id), call.call_id, call.digest, user_id]
    return signing.dumps(content, salt=_SALT)


def token_of_review(wait: Wait, user_id: int) -> str:
    """Return the last part of the URL of a link to a review, for one person."""
    return signing.dumps([str(wait.run_id), wait.key, user_id], salt=_SALT)


def open_link(token: str) -> Opened | OpenedReview:
    """Return the access of a link, and its call or review.

    Raises:
        CallClosedError: The link is forged or expired, its call is gone, or its person has no right
            to decide.
    """
    age = timedelta(hours=settings.HEARTBIT_APPROVAL_LINK_HOURS)
    try:
        run_id, *place, user_id = signing.loads(token, salt=_SALT, max_age=age)
    except signing.SignatureExpired as error:
        raise CallClosedError("The link is too old: open the inbox instead.") from error
    except (signing.BadSignature, ValueError) as error:
        raise CallClosedError("The link is not whole: open it as it was sent.") from error
    found: ToolCall | Wait | None
    if len(place) == 1:
        waits = Wait.objects.select_related("run__workspace").filter(kind=REVIEW.name)
        found = waits.filter(run_id=run_id, key=place[0]).first()
    else:
        calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
        found = calls.filter(run_id=run_id, call_id=place[0]).first()
    user = get_user_model().objects.filter(pk=user_id).first()
    if found is None or user is None:
        raise CallClosedError("The call of this link is gone: nothing can be decided.")
    try:
        access = access_of_user(user, found.run.workspace.slug)
    except NoWorkspaceError as error:
        raise CallClosedError(str(error)) from error
    if not access.allows(_SCOPE):
        raise CallClosedError(describe_refusal(access, _SCOPE))
    if isinstance(found, Wait):
        return OpenedReview(access, found)
    return Opened(access, found, place[1])
