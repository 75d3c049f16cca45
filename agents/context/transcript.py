"""A conversation as quoted text, for a model that reports on it."""

from __future__ import annotations

from collections.abc import Callable

from agents.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

MAX_CHARACTERS = 240_000  # length of a transcript: about 60,000 tokens
_ENTRY_LIMITS = (4_000, 2_000, 1_000, 500, 250)  # lengths of one message, tried in order
_WHOLE_CHARACTERS = 16_000
_NAME_CHARACTERS = 64


def transcript(messages: tuple[Message, ...], *, whole: Callable[[Message], bool]) -> str:
    """Return the messages as numbered entries, each line of their contents quoted.

    Long contents are cut in the middle, more so in a longer conversation; if that is not enough,
    entries in the middle are left out and counted. Messages for which ``whole`` returns True are
    cut only beyond 16,000 characters.
    """
    entries: list[str] = []
    for limit in _ENTRY_LIMITS:
        entries = [
            _entry(number, message, _WHOLE_CHARACTERS if whole(message) else limit)
            for number, message in enumerate(messages, start=1)
        ]
        if sum(map(len, entries)) + 2 * len(entries) <= MAX_CHARACTERS:
            return "\n\n".join(entries)
    return "\n\n".join(_ends(entries))


def quote(text: str, limit: int) -> str:
    """Return the text cut to about ``limit`` characters, every line beginning with ``> ``."""
    if len(text) > limit:
        half = limit // 2
        cut = len(text) - 2 * half
        text = f"{text[:half]}\n[{cut} characters left out]\n{text[-half:]}"
    return "\n".join(f"> {line}" for line in text.splitlines()) or ">"


def _entry(number: int, message: Message, limit: int) -> str:
    match message:
        case UserMessage(text):
            return f"[{number}] The user:\n{quote(text, limit)}"
        case ToolMessage(_, name, content, is_error):
            ended = "failed" if is_error else "returned"
            return f"[{number}] The tool {_name(name)} {ended}:\n{quote(content, limit)}"
        case AssistantMessage(text, calls):
            lines = [f"[{number}] The assistant:"]
            if text or not calls:
                lines.append(quote(text, limit))
            for call in calls:
                lines.append(f"It called {_name(call.name)} with:\n{quote(call.arguments, limit)}")
            return "\n".join(lines)


def _name(name: str) -> str:
    """Return a tool's name on one line and cut, since a model may write any text as a name."""
    return repr(name[:_NAME_CHARACTERS])


def _ends(entries: list[str]) -> list[str]:
    """Return as many entries from both ends as fit, and the number of missing ones between them."""
    room = MAX_CHARACTERS
    head: list[str] = []
    tail: list[str] = []
    for index in range(len(entries)):
        source, place = (head, index // 2) if index % 2 == 0 else (tail, -1 - index // 2)
        room -= len(entries[place]) + 2
        if room < 0:
            break
        source.append(entries[place])
    missing = len(entries) - len(head) - len(tail)
    return [*head, f"[{missing} messages left out]", *reversed(tail)]
