"""Separation of thoughts that a model writes into its answer, between ``<think>`` and ``</think>``.

Servers without a parser for reasoning pass them on as text: DeepSeek R1, Qwen, MiniMax and others.
"""

from __future__ import annotations

from typing import Literal

from agents.llm.messages import TextDelta, ThinkingDelta

THINK_TAGS = "think_tags"  # type of the ``Thinking`` block of such thoughts
_OPENING, _CLOSING = "<think>", "</think>"
# Bounds of what is read again for each piece: a model may repeat itself until its limit.
_MOST_BLANKS = 1_000  # characters before the answer
_MOST_THOUGHTS = 100  # pairs of tags


def with_think_tags(thoughts: str, text: str) -> str:
    """Return an answer as its model wrote it."""
    return f"{_OPENING}{thoughts}{_CLOSING}\n\n{text}"


class ThinkTags:
    """Separator of one text that arrives in pieces cut anywhere.

    Only thoughts that the text begins with count, so an answer may speak of the tags. The opening
    tag may be missing, as it is part of some models' prompt; such thoughts are streamed as text,
    because only the closing tag shows what they were.

    Attributes:
        text: Answer without the thoughts, after ``finish``.
        thoughts: Thoughts, after ``finish``.
    """

    def __init__(self) -> None:
        self.text = ""
        self.thoughts = ""
        self._place: Literal["before", "thought", "answer"] = "before"
        self._thought_count = 0
        self._held = ""
        self._text: list[str] = []
        self._thoughts: list[str] = []

    def feed(self, piece: str) -> list[TextDelta | ThinkingDelta]:
        """Return what is certain to be text, or a thought; hold what may be part of a tag."""
        piece, self._held = self._held + piece, ""
        deltas: list[TextDelta | ThinkingDelta] = []
        while piece and self._place != "answer":
            if self._place == "before":
                piece = self._begin(piece)
                continue
            thought, piece = self._think(piece)
            if thought:
                self._thoughts.append(thought)
                deltas.append(ThinkingDelta(thought))
        if piece:
            self._text.append(piece)
            deltas.append(TextDelta(piece))
        return deltas

    def finish(self) -> None:
        """Decide what the held end of the text is, and what the text was without an opening tag."""
        if self._place == "thought":
            self._thoughts.append(self._held)
        elif not (self._thought_count and self._held.isspace()):
            self._text.append(self._held)
        self.text = "".join(self._text)
        if self._thought_count:
            self.thoughts = "".join(self._thoughts)
        else:
            self._split_at_closing_tag()

    def _begin(self, piece: str) -> str:
        """Decide what the text begins with; return the rest that is not decided yet."""
        start = piece.lstrip()
        if start.startswith(_OPENING) and self._thought_count < _MOST_THOUGHTS:
            self._place = "thought"
            self._thought_count += 1
            return start.removeprefix(_OPENING)
        if _OPENING.startswith(start) and len(piece) <= _MOST_BLANKS:
            self._held = piece
            return ""
        self._place = "answer"
        return start if self._thought_count else piece

    def _think(self, piece: str) -> tuple[str, str]:
        """Return the thought in a piece, and the rest after its end."""
        thought, tag, rest = piece.partition(_CLOSING)
        if tag:
            self._place = "before"
            return thought, rest
        begun = next(n for n in range(len(_CLOSING) - 1, -1, -1) if piece.endswith(_CLOSING[:n]))
        self._held = piece[len(piece) - begun :]
        return piece[: len(piece) - begun], ""

    def _split_at_closing_tag(self) -> None:
        """Take the text before a closing tag that ends or begins a line for a thought."""
        before, tag, after = self.text.partition(_CLOSING)
        borders = not before or before.endswith("\n") or not after or after.startswith("\n")
        if tag and borders and _OPENING not in before:
            self.thoughts, self.text = before, after.lstrip()
