"""Prompt for the answer to a question of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.cli import editor, keyboard
from heartbit_site.cli.choices import Answer, Deny, Skip
from heartbit_site.cli.kinds import QUESTION
from heartbit_site.cli.output import note
from tools.answer_form import are_numbered, choices

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from heartbit_site.cli.question import WaitingCall

    Edited = Callable[[list[str], str, str], Awaitable[str]]

FILE: Final = "answer.json"
_STRUCTURED: Final = ("object", "array")


async def chosen(
    call: WaitingCall, draft: str, edited: Edited, *, again: bool
) -> Answer | Deny | Skip | None:
    """Return an answer or none, or None when the question has to be put again.

    Args:
        call: A question.
        draft: What an answer in the person's editor begins with.
        edited: Opens that editor.
        again: Whether an answer was given that did not fit: then the letters are not asked for.
    """
    if again:
        return await _answer(call.form or {}, draft, edited)
    letter = await keyboard.line(QUESTION.keys)
    match "s" if letter is None else letter.strip().lower():
        case "a" | "answer":
            return await _answer(call.form or {}, draft, edited)
        case "d" | "decline" | "deny":
            reason = await keyboard.line("Why not? The model reads it > ")
            return Deny(reason.strip()) if reason is not None else None
        case "s" | "skip":
            return Skip()
    note("Answer with one of the letters in brackets: a, d or s.")
    return None


def is_structured(form: Mapping[str, Any]) -> bool:
    """Return True if the answer is written as JSON, best in an editor."""
    return form.get("type") in _STRUCTURED


async def _answer(form: Mapping[str, Any], draft: str, edited: Edited) -> Answer | None:
    if is_structured(form):
        text = await _json(draft, edited)
    elif are_numbered(form):
        text = await keyboard.line("Your answer, or its number > ")
    else:
        text = await keyboard.line("Your answer > ")
    if text is None or not text.strip():
        note("Nothing was answered.")
        return None
    return Answer(_named(form, text.strip()))


async def _json(draft: str, edited: Edited) -> str | None:
    try:
        words = editor.command()
        if not words:
            return await keyboard.line("The answer as one line of JSON > ")
        text = await edited(words, draft, FILE)
    except editor.EditorError as error:
        note(str(error))
        return None
    return text if text.strip() != draft.strip() else None


def _named(form: Mapping[str, Any], text: str) -> str:
    """Return the choice that a number names; else the text as it is."""
    found = choices(form)
    if not (text.isascii() and text.isdecimal() and are_numbered(form)):
        return text
    return found[int(text) - 1] if 0 < int(text) <= len(found) else text
