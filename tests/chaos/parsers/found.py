"""What an edge made of a hostile text, and whether that will do. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.pace import slowness

#: A refusal takes no longer than this at full pace, beside other tests that keep every processor
#: busy: nothing is matched or counted for ever.
SECONDS = 30.0


@dataclass(slots=True)
class Findings:
    """All of it.

    Attributes:
        asked: Texts by edge.
        unclear: What was not refused, or not in one clear sentence.
        slow: What took too long.
        dead: Processes that did not survive.
        broken: What was kept although nobody can use it.
        slowest: The longest answer, in seconds.
    """

    asked: dict[str, int] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, edge: str, value: str, said: str | None, seconds: float = 0.0) -> None:
        """Note an answer.

        Args:
            edge: Where it was asked.
            value: What.
            said: The sentence; None: it was taken.
            seconds: How long that took.
        """
        self.asked[edge] = self.asked.get(edge, 0) + 1
        self.slowest = max(self.slowest, seconds)
        if seconds > SECONDS * slowness():
            self.slow.append(f"{edge}: {value} took {seconds:.1f} s")
        if said is None:
            self.unclear.append(f"{edge}: {value} was taken")
        elif not is_sentence(said):
            self.unclear.append(f"{edge}: {value} was answered with {said[:200]!r}")

    @property
    def faults(self) -> list[str]:
        """A sentence each."""
        return [*self.unclear, *self.slow, *self.dead, *self.broken]


def is_sentence(text: str) -> bool:
    """Whether it is one paragraph that a person can read, and no traceback."""
    words = text.strip()
    return (
        3 <= len(words.split()) <= 120
        and "\n" not in words
        and "Traceback" not in words
        and words.endswith((".", "?"))
    )
