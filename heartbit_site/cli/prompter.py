"""Asks the person at this terminal about one call after the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from typing import TYPE_CHECKING, Final

from agents.errors import InvalidEditError
from heartbit_site.base import aio
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.visible_text import compact_json, readable_json
from heartbit_site.cli import answer_prompt, editor, keyboard
from heartbit_site.cli.choices import Answer, Approve, Choice, Deny, Edit, Settle, Skip
from heartbit_site.cli.kinds import APPROVAL, OUTCOME, QUESTION
from heartbit_site.cli.output import note
from heartbit_site.cli.question import question
from tools import answer_form

if TYPE_CHECKING:
    from heartbit_site.cli.decision_backend import DecisionBackend
    from heartbit_site.cli.question import WaitingCall

LOOK_SECONDS: Final = 0.5  # how soon a person sees that someone else was quicker
_APPROVALS: Final = {"a": Approve(), "r": Approve("run"), "A": Approve("agent")}


class CallPrompter:
    """Puts questions and carries out the answers.

    Attributes:
        in_editor: Whether the person's editor has the terminal, and with it Ctrl-C.
        look: Set it when something may have become of the call that is asked about.
    """

    def __init__(self, desk: DecisionBackend) -> None:
        self.in_editor = False
        self.look = asyncio.Event()
        self._desk = desk
        self._deciding = False

    async def settle(self, call: WaitingCall) -> bool:
        """Ask until the call is decided, here or elsewhere; False when it is left to others."""
        if await self._desk.closed(call) is not None:
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

    async def _closed(self, call: WaitingCall) -> str:
        """Wait until it is decided elsewhere, or its run has ended; say so."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self.look.wait()
            self.look.clear()
            sentence = await self._desk.closed(call)
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
            if isinstance(choice, Skip):
                note(f"Left to others: `heartbit {call.kind.command}` decides it.")
                return False
            problem = await self._carry_out(call, choice)
            if problem is None:
                return True
            note(f"Not decided: {problem}")
            draft = _written(choice) or draft
            # With an editor, the letter that opened it opens the draft again.
            again = not (_opens_editor(call) and editor.command())

    async def _carry_out(self, call: WaitingCall, choice: Choice) -> InvalidEditError | None:
        """Decide and say so; or why an edit cannot be."""
        self._deciding = True
        try:
            note(await self._desk.decide(call, choice))
        except InvalidEditError as error:
            return error
        except ConflictError as error:
            note(str(error))
        finally:
            self._deciding = False
        return None

    async def _answer(self, call: WaitingCall, draft: str, *, again: bool) -> Choice | Skip | None:
        if call.kind is OUTCOME:
            return await _settled()
        if call.kind is QUESTION:
            return await answer_prompt.chosen(call, draft, self._in_editor, again=again)
        return await (self._edit(draft) if again else self._choose(draft))

    async def _choose(self, draft: str) -> Choice | Skip | None:
        """Return a choice, or None when the question has to be put again."""
        answer = await keyboard.line(APPROVAL.keys)
        word = "s" if answer is None else answer.strip()
        if word in _APPROVALS:
            return _APPROVALS[word]
        match word.lower():
            case "approve" | "y" | "yes":
                return Approve()
            case "e" | "edit":
                return await self._edit(draft)
            case "d" | "deny" | "n" | "no":
                reason = await keyboard.line("Why not? The model reads it > ")
                return Deny(reason.strip()) if reason is not None else None
            case "s" | "skip":
                return Skip()
        note("Answer with one of the letters in brackets: a, e, d, r, A or s; or y or n.")
        return None

    async def _edit(self, draft: str) -> Choice | None:
        try:
            words = editor.command()
            text = await self._in_editor(words, draft) if words else await _typed(draft)
        except editor.EditorError as error:
            note(str(error))
            return None
        if text is None or not text.strip() or _is_same(text, draft):
            note("Nothing was changed, and nothing decided.")
            return None
        return Edit(text.strip())

    async def _in_editor(self, words: list[str], draft: str, file: str = editor.FILE) -> str:
        self.in_editor = True
        try:
            return await editor.edited(words, draft, file)
        finally:
            self.in_editor = False


def _draft(call: WaitingCall) -> str:
    """Return the text that the editor begins with."""
    if call.form is not None:
        return answer_form.draft(call.form)
    return readable_json(dict(call.arguments))


def _written(choice: Choice) -> str:
    """Return the person's own text about a call; empty: there is none to correct."""
    match choice:
        case Edit(text) | Answer(text):
            return text
    return ""


def _opens_editor(call: WaitingCall) -> bool:
    return call.form is None or answer_prompt.is_structured(call.form)


async def _settled() -> Settle | Skip | None:
    """Return an outcome, or None when the question has to be put again."""
    answer = await keyboard.line(OUTCOME.keys)
    match "l" if answer is None else answer.strip().lower():
        case "r" | "retry":
            return Settle("retry")
        case "c" | "confirm":
            text = await keyboard.line("What did it answer? The model reads it; may be empty > ")
            return Settle("confirm", text.strip()) if text is not None else None
        case "s" | "skip":
            return Settle("skip")
        case "l" | "later":
            return Skip()
    note("Answer with one of the letters in brackets: r, c, s or l.")
    return None


async def _typed(draft: str) -> str | None:
    try:
        note(f"Now: {compact_json(json.loads(draft))}")
    except ValueError:
        note(f"Now: {draft}")
    return await keyboard.line("The arguments as one line of JSON > ")


def _is_same(text: str, draft: str) -> bool:
    try:
        return bool(json.loads(text) == json.loads(draft))
    except (ValueError, RecursionError):
        return text.strip() == draft.strip()
