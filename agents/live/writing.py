"""Text of a model call in flight, assembled from its deltas. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agents.live.timeline import Parts
from agents.runs.live_entries import Delta, DeltaKind


@dataclass(slots=True)
class Writing:
    """Streamed text of a model call.

    Attributes:
        next: Expected offset of the next piece.
        gap: True if a piece was lost.
    """

    turn: int = 0
    attempt: int = 0
    next: int = 0
    kind: DeltaKind = "text"
    text: str = ""
    thinking: str = ""
    gap: bool = False

    def add(self, delta: Delta) -> Parts | None:
        """Append a piece; return the change, or None if it is known or of an earlier attempt."""
        place = (delta.turn, delta.attempt)
        if place < (self.turn, self.attempt):
            return None
        fresh = place != (self.turn, self.attempt)
        known = 0 if fresh else self.next
        piece = delta.text[max(0, known - delta.offset) :]
        if not piece:
            return None
        if fresh:
            self.turn, self.attempt = place
            self.text, self.thinking, self.gap = "", "", False
        if delta.offset > known:
            self.gap, piece = True, f"…{piece}"
        self.kind, self.next = delta.kind, delta.offset + len(delta.text)
        before = self.thinking if delta.kind == "thinking" else self.text
        if delta.kind == "thinking":
            self.thinking += piece
        else:
            self.text += piece
        at = len(before) + sum(character > "\uffff" for character in before)
        return {"kind": delta.kind, "at": at, "text": piece, "fresh": fresh, "gap": self.gap}
