"""Separation of thoughts that a model writes into its answer, between ``<think>`` and ``</think>``.

Servers without a parser for reasoning pass them on as text: DeepSeek R1, Qwen, MiniMax and others.
"""

from __future__ import annotations

from typing import Literal

from agents.llm.messages import TextDelta, ThinkingDelta

THINK_TAGS = "think_tags"  # type of the ``Thinking`` block of such thoughts
_OPENING, _CLOSING = "<think>", "</think>"
# Bounds of the text that is parsed again for each piece: a model may repeat itself until its limit.
_MOST_BLANKS = 1_000  # characters before the answer
_MOST_THOUGHTS = 100  # pairs of tags


def with_think_tags(thoughts: str, text: str) -> str:
    """Return an answer as its model wrote it."""
    return f"{_OPENING}{thoughts}{_CLOSING}\n\n{text}"


class ThinkTags:
    """Separator of one text that arrives in pieces cut anywhere.

    Only thoughts at the beginning of the text count, so an answer may mention the tags. The opening
    tag may be missing, because some models have it in their prompt; such thoughts are streamed as
    text, because only the closing tag identifies them.

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
        """Return text and thoughts that are certain; hold back a possible part of a tag."""
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
        """Classify the held end of the text, and the text before a tag that was never opened."""
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
        """Classify the beginning of the text; return the rest that is still undecided."""
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
        """Treat the text before a closing tag as a thought if the tag ends or begins a line."""
        before, tag, after = self.text.partition(_CLOSING)
        borders = not before or before.endswith("\n") or not after or after.startswith("\n")
        if tag and borders and _OPENING not in before:
            self.thoughts, self.text = before, after.lstrip()
