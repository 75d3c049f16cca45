"""Adaptation to a server that rejects a part of a request, learned from the error.

A profile describes what a server accepts. An error that names a part of the request changes the
profile, with which the request is sent again at once. Once the server answers, the adapter keeps
the change while the provider's account is unchanged: a process gets the error once, not per
request.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, Protocol

from agents.llm.adapters.plain_tools import with_plain_tools
from agents.llm.errors import RequestRejectedError
from agents.llm.messages import ChatRequest, Completion, StreamEvent
from agents.llm.profiles import Profile

logger = logging.getLogger(__name__)

_ADAPTING: Final = "adapting requests to %s (%s), because it rejected one: %s"
#: Changes of a profile, by the part that an error names; the first new change is applied.
_LESSONS: Final[dict[str, dict[str, Any]]] = {
    "stream_options": {"stream_usage": False},
    "max_completion_tokens": {"max_tokens_field": "max_completion_tokens"},
    "tool_choice": {"forced_tool_choice": False},
    "reasoning_effort": {"reasoning_efforts": (), "tools_reasoning_effort": None},
    "temperature": {"sampling": False},
}
# Whole names that are not tools' arguments: a tool may be set_temperature, or take a temperature.
_PART: Final = re.compile(
    r"(?<![\w-])(?<!properties\.)"
    r"(?:stream_options|max_completion_tokens|tool_choice|reasoning_effort|temperature)(?![\w-])"
)
_UNSUPPORTED: Final = re.compile(
    "unsupported|not support|not permitted|not allowed|extra|unknown|unrecogni[sz]ed|unexpected",
    re.IGNORECASE,
)
_ABOUT_SCHEMAS: Final = re.compile("schema|anyof|oneof|allof|propert", re.IGNORECASE)
_TOOL_NUMBER: Final = re.compile(r"\btools(?:\.|\[)([0-9]{1,4})\b\]?")


class Adaptable(Protocol):
    """An adapter with the profile of its model."""

    profile: Profile

    @property
    def name(self) -> str:
        """``provider:model``."""
        ...


async def stream_adapted(
    model: Adaptable,
    request: ChatRequest,
    ask: Callable[[ChatRequest, Profile], AsyncGenerator[StreamEvent, None]],
) -> AsyncGenerator[StreamEvent, None]:
    """Stream an answer; adapt the profile after an error.

    Args:
        model: The adapter, whose profile is changed.
        request: The request.
        ask: Sends a request in the form that a profile describes.

    Raises:
        ModelError: See ``ChatModel.stream``.
    """
    learned: dict[str, Any] = {}
    while True:
        profile, begun = replace(model.profile, **learned), False
        plain = None if profile.any_schema else with_plain_tools(request)
        sent = request if plain is None else plain.request
        try:
            async with aclosing(ask(sent, profile)) as events:
                async for event in events:
                    if learned and not begun:
                        model.profile = replace(model.profile, **learned)
                    begun = True
                    if plain is not None and isinstance(event, Completion):
                        yield replace(event, message=plain.restored(event.message))
                    else:
                        yield event
            return
        except RequestRejectedError as error:
            lesson = None if begun else _lesson(str(error), request, profile)
            if lesson is None:
                raise _naming_tools(error, request) from error
            changes = ", ".join(f"{name}: {value}" for name, value in lesson.items())
            logger.warning(_ADAPTING, model.name, changes, error)
            learned |= lesson


def _lesson(refusal: str, request: ChatRequest, profile: Profile) -> dict[str, Any] | None:
    """Return the change of the profile that an error calls for; None: no change would help."""
    if _UNSUPPORTED.search(refusal):
        named = set(_PART.findall(refusal))
        for part, change in _LESSONS.items():
            known = all(getattr(profile, name) == value for name, value in change.items())
            if part in named and not known:
                return change
    is_about_tools = profile.any_schema and _ABOUT_SCHEMAS.search(refusal)
    if is_about_tools and with_plain_tools(request).request.tools != request.tools:
        return {"any_schema": False}
    return None


def _naming_tools(error: RequestRejectedError, request: ChatRequest) -> RequestRejectedError:
    """Return the error with the names of tools that the server refers to by number."""

    def named(found: re.Match[str]) -> str:
        number = int(found[1])
        if number >= len(request.tools):
            return found[0]
        return f"{found[0]} (the tool {request.tools[number].name})"

    return RequestRejectedError(_TOOL_NUMBER.sub(named, str(error)))
