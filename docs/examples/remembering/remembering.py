"""What was said once is known later: `python remembering.py "I live in Bonn." "Where do I live?"`.

The notes are of this program. Without an object, `.memory()` keeps memories in the database.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from heartbit_site.library import Heartbit
from memory.providers.protocol import MemoryContext, ProvidedText, Said


class Notes:
    """A memory: each run is told what people have said before."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def before(self, run: MemoryContext, task: str) -> Sequence[ProvidedText]:
        """Return the latest notes for a run's model."""
        return [ProvidedText(text, "an earlier talk") for text in self._said[-5:]]

    def after(self, run: MemoryContext, said: Sequence[Said]) -> None:
        """Keep what the person said."""
        self._said += [one.text for one in said if one.by == "person"]

    def erase(self, workspace_id: int, user_id: int, agent: str) -> None:
        """Forget everything."""
        self._said.clear()


def main(sentences: list[str]) -> None:
    """Say each sentence in a run of its own, and print the answers."""
    friend = Heartbit().memory(Notes()).agent("friend", "Be brief.")
    for sentence in sentences:
        sys.stdout.write(f"{friend.run(sentence).expect().text}\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["I live in Bonn.", "Where do I live?"])
