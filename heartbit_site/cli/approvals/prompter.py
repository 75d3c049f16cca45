"""Asks the person at this terminal about one call after the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from agents.errors import InvalidEditError
from heartbit_site.base import aio
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.visible_text import compact_json, readable_json
from heartbit_site.cli.approvals.decisions import CallChoice, closed, decide
from heartbit_site.cli.approvals.kinds import (
    APPROVAL,
    OUTCOME,
    Kind,
    WaitingCall,
    form_of,
    kind_of,
    question,
)
from heartbit_site.cli.terminal import keyboard
from heartbit_site.cli.terminal.output import note
from tools.calls import questions

if TYPE_CHECKING:
    from heartbit_site.cli.backend.protocol import Backend

_WORD: Final = re.compile(r"\[(\w)\](\w*)")  # of the keys, such as [a]pprove
LOOK_SECONDS: Final = 0.5  # how soon a person sees that someone else was quicker
_APPROVALS: Final = {
    "a": CallChoice("approve"),
    "r": CallChoice("approve", always="run"),
    "A": CallChoice("approve", always="agent"),
}
LATER: Final = "later"  # the call is left to another person
Later = Literal["later"]


class CallPrompter:
    """Puts questions and carries out the answers.

    Attributes:
        in_editor: Whether the person's editor has the terminal, and with it Ctrl-C.
        look: Set it when something may have become of the call that is asked about.
    """

    def __init__(self, backend: Backend) -> None:
        self.in_editor = False
        self.look = asyncio.Event()
        self._backend = backend
        self._deciding = False

    async def settle(self, call: WaitingCall) -> bool:
        """Ask until the call is decided, here or elsewhere; False when it is left to others."""
        if await self._closed_by(call) is not None:
            return True  # an earlier answer, or someone else, has covered it
        consulting = asyncio.create_task(self._consult(call))
        elsewhere = asyncio.create_task(self._closed(call))
        try:
            await asyncio.wait({consulting, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if consulting.done() or self._deciding:
                return await consulting
            await aio.cancel_and_wait(consulting)
            note(elsewhere.result())
            return True
        finally:
            await aio.cancel_and_wait(consulting, elsewhere)

    async def _closed_by(self, call: WaitingCall) -> str | None:
        return await self._backend.in_thread(partial(closed, self._backend, call))

    async def _closed(self, call: WaitingCall) -> str:
        """Wait until it is decided elsewhere, or its run has ended; say so."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self.look.wait()
            self.look.clear()
            sentence = await self._closed_by(call)
            if sentence is not None:
                return sentence

    async def _consult(self, call: WaitingCall) -> bool:
        for text in question(call, shutil.get_terminal_size().columns):
            note(text)
        draft = _draft(call)
        again = False
        while True:
            choice = await self._answer(call, draft, again=again)
            again = False
            if choice is None:
                continue
            if isinstance(choice, str):
                note(f"Left to others: `heartbit {kind_of(call).wait.command}` decides it.")
                return False
            problem = await self._carry_out(call, choice)
            if problem is None:
                return True
            note(f"Not decided: {problem}")
            if choice.verdict in ("edit", "answer"):  # the person's own text, to be corrected
                draft = choice.text
            # With an editor, the letter that opened it opens the draft again.
            again = not (_opens_editor(call) and keyboard.editor_command())

    async def _carry_out(self, call: WaitingCall, choice: CallChoice) -> InvalidEditError | None:
        """Decide and say so; or why an edit cannot be."""
        self._deciding = True
        try:
            note(await decide(self._backend, call, choice))
        except InvalidEditError as error:
            return error
        except ConflictError as error:
            note(str(error))
        finally:
            self._deciding = False
        return None

    async def _answer(
        self, call: WaitingCall, draft: str, *, again: bool
    ) -> CallChoice | Later | None:
        """Return a choice, or None when the question has to be put again."""
        kind = kind_of(call)
        if kind is OUTCOME:
            return await _settled()
        writes = "e" if kind is APPROVAL else "a"  # the letter for a text of the person's own
        letter = writes if again else await _letter(kind)
        match letter:
            case "d":
                reason = await keyboard.line("Why not? The model reads it > ")
                return CallChoice("deny", reason.strip()) if reason is not None else None
            case "s":
                return LATER
            case _ if letter != writes:
                return _APPROVALS.get(letter)
        form = form_of(call)
        return await (self._edit(draft) if form is None else self._reply(form, draft))

    async def _edit(self, draft: str) -> CallChoice | None:
        text = await self._written(draft, "The arguments as one line of JSON > ", show=True)
        if text is None or _is_same(text, draft):
            note("Nothing was changed, and nothing decided.")
            return None
        return CallChoice("edit", text)

    async def _reply(self, form: Mapping[str, Any], draft: str) -> CallChoice | None:
        numbered = questions.are_numbered(form)
        if _is_structured(form):
            prompt = "The answer as one line of JSON > "
            text = await self._written(draft, prompt, file="answer.json")
        else:
            ask = "Your answer, or its number > " if numbered else "Your answer > "
            text = (await keyboard.line(ask) or "").strip()
        if not text:
            note("Nothing was answered.")
            return None
        if numbered and text.isascii() and text.isdecimal():
            named = questions.choices(form)
            text = named[int(text) - 1] if 0 < int(text) <= len(named) else text
        return CallChoice("answer", text)

    async def _written(
        self, draft: str, prompt: str, *, file: str = keyboard.FILE, show: bool = False
    ) -> str | None:
        """Return what the person writes instead of a draft, in their editor or on one line.

        None: nothing, or the editor failed.
        """
        try:
            words = keyboard.editor_command()
            if not words:
                if show:
                    note(f"Now: {_compact(draft)}")
                text = await keyboard.line(prompt)
                return (text or "").strip() or None
            self.in_editor = True
            text = await keyboard.edited(words, draft, file)
        except keyboard.EditorError as error:
            note(str(error))
            return None
        finally:
            self.in_editor = False
        return text.strip() if text.strip() not in ("", draft.strip()) else None


def _draft(call: WaitingCall) -> str:
    """Return the text that the editor begins with."""
    form = form_of(call)
    return readable_json(call.arguments) if form is None else questions.draft(form)


def _is_structured(form: Mapping[str, Any]) -> bool:
    """Return True if the answer is written as JSON, best in an editor."""
    return form.get("type") in ("object", "array")


def _opens_editor(call: WaitingCall) -> bool:
    form = form_of(call)
    return form is None or _is_structured(form)


async def _settled() -> CallChoice | Later | None:
    """Return an outcome, or None when the question has to be put again."""
    match await _letter(OUTCOME):
        case "r":
            return CallChoice("retry")
        case "c":
            text = await keyboard.line("What did it answer? The model reads it; may be empty > ")
            return CallChoice("confirm", text.strip()) if text is not None else None
        case "s":
            return CallChoice("skip")
        case "l":
            return LATER
    return None


async def _letter(kind: Kind) -> str:
    """Return the letter that the person answers with; empty: it is none of them."""
    named: list[tuple[str, str]] = _WORD.findall(kind.keys)
    letters = [letter for letter, _ in named]
    words = {letter + rest: letter for letter, rest in named} | {
        letter: letter for letter in letters
    }
    words |= kind.synonyms
    answer = await keyboard.line(kind.keys)
    word = letters[-1] if answer is None else answer.strip()
    found = words.get(word) or words.get(word.lower(), "")
    if not found:
        more = "; or y or n" if "y" in words else ""
        shown = f"{', '.join(letters[:-1])} or {letters[-1]}{more}"
        note(f"Answer with one of the letters in brackets: {shown}.")
    return found


def _compact(draft: str) -> str:
    try:
        return compact_json(json.loads(draft))
    except (ValueError, RecursionError):
        return draft


def _is_same(text: str, draft: str) -> bool:
    try:
        return bool(json.loads(text) == json.loads(draft))
    except (ValueError, RecursionError):
        return text.strip() == draft.strip()
