"""Search of functions by words. Pure.

Rare words weigh more, as in Spärck Jones, "A statistical interpretation of term specificity and its
application in retrieval", 1972; words of a name weigh more than those of a description.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tools.scripts.functions import ScriptFunction

_WORD: Final = re.compile(r"[^\W_]+")
_NAME_WEIGHT: Final = 3.0


class FunctionIndex:
    """Index of the functions of one agent."""

    def __init__(self, functions: Iterable[ScriptFunction]) -> None:
        self._functions = list(functions)
        self._names = [_words(function.name) for function in self._functions]
        self._texts = [_words(function.listing) for function in self._functions]
        self._found_in = Counter(word for text in self._texts for word in text)

    def find(self, query: str, most: int) -> list[ScriptFunction]:
        """Return the functions that fit a query, best first; none if no word of it occurs."""
        words = _words(query)
        scores = [
            sum(
                self._weight(word) * (_NAME_WEIGHT if word in name else 1.0)
                for word in words & text
            )
            for name, text in zip(self._names, self._texts, strict=True)
        ]
        best = sorted(range(len(scores)), key=lambda index: -scores[index])[:most]
        return [self._functions[index] for index in best if scores[index] > 0]

    def _weight(self, word: str) -> float:
        return math.log(1 + len(self._functions) / self._found_in[word])


def _words(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case and singular."""
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found)
