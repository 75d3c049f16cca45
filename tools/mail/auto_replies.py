"""Detection of mails that must not be answered: RFC 3834, and other conventions. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.mail.headers import one_line

if TYPE_CHECKING:
    from tools.mail.headers import Headers

_MOST_SAID = 60
_LISTS = ("List-Id", "List-Post", "List-Unsubscribe")
_BULK = frozenset({"bulk", "junk", "list"})
_SUPPRESSED = frozenset({"all", "autoreply"})
_MACHINE = re.compile(
    r"(?:mailer-daemon|postmaster|no[-_.]?reply|do[-_.]?not[-_.]?reply)(?:\+.*)?", re.IGNORECASE
)


def auto_reply_reason(headers: Headers, kind: str, sender: str) -> str:
    """Return why a mail must not be answered, as a sentence; empty: a person probably wrote it."""
    if headers.every("x-heartbit-run"):
        return "Heartbit wrote it itself (X-Heartbit-Run)."
    for said in headers.every("auto-submitted"):
        if _keyword(said) != "no":
            return f"It says that a machine wrote it (Auto-Submitted: {_shown(said)})."
    if any(value.strip() == "<>" for value in headers.every("return-path")):
        return "It is a notice of a mail server, to which nobody can answer (Return-Path: <>)."
    if kind == "multipart/report":
        return "It is a notice of a mail server (multipart/report)."
    return _why_many(headers) or _why_unanswered(headers, sender)


def _why_many(headers: Headers) -> str:
    for name in _LISTS:
        if headers.every(name.lower()):
            return f"It was sent to many people, by a list ({name})."
    for said in headers.every("precedence"):
        if _keyword(said) in _BULK:
            return f"It was sent to many people (Precedence: {_shown(said)})."
    return ""


def _why_unanswered(headers: Headers, sender: str) -> str:
    for said in headers.every("x-auto-response-suppress"):
        if any(_keyword(one) in _SUPPRESSED for one in said.split(",")):
            return f"It asks for no automatic answer (X-Auto-Response-Suppress: {_shown(said)})."
    if _MACHINE.fullmatch(sender.rpartition("@")[0]):
        return f"Nobody reads what is sent to {sender}."
    return ""


def _keyword(value: str) -> str:
    """Return a value without parameters and comments."""
    return value.partition(";")[0].partition("(")[0].strip().lower()


def _shown(value: str) -> str:
    return one_line(value, _MOST_SAID)
