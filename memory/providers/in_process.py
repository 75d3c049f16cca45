"""A memory provider that keeps what people say in its process, for programs and tests.

It serves library runs without a table of memories: no model extracts memories, they are found only
by words, and they end with the process. A text belongs to the person, else to the conversation,
else to the agent, as with Heartbit's own memories.
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from memory.providers.protocol import MemoryContext, ProvidedText, Said

#: Maximum texts of one owner, and maximum owners; the least recently used are dropped first.
MOST_TEXTS: Final = 1_000
MOST_OWNERS: Final = 10_000
_MOST_CHARACTERS: Final = 500
_WORD: Final = re.compile(r"\w{2,}")
# English only: a text in another language is also found by its short words.
_COMMON: Final = frozenset(
    [
        *("about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can"),
        *("could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her"),
        *("his", "how", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of"),
        *("on", "or", "our", "she", "should", "so", "that", "the", "their", "them", "then"),
        *("there", "these", "they", "this", "to", "us", "was", "we", "were", "what", "when"),
        *("where", "which", "who", "why", "will", "with", "would", "you", "your"),
    ]
)


@dataclass(frozen=True, slots=True)
class _Owner:
    """The person, conversation or agent that owns texts."""

    workspace_id: int
    agent: str
    user_id: int | None
    conversation_id: UUID | None

    @classmethod
    def of(cls, run: MemoryContext) -> _Owner:
        """Return the owner of what is said in a run."""
        thread = run.conversation_id if run.user_id is None else None
        return cls(run.workspace_id, run.agent, run.user_id, thread)


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    words: frozenset[str]
    day: str


class InProcessMemories:
    """Implementation of ``MemoryProvider`` in the memory of one process; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[_Owner, dict[str, _Text]] = OrderedDict()

    def before(self, run: MemoryContext, task: str) -> Sequence[ProvidedText]:
        """Return the texts that share words with the task, those with rare words first."""
        asked = _words(task)
        with self._lock:
            known = [text for owner in _reach(run) for text in self._of(owner)]
        spread = Counter(word for one in known for word in one.words & asked)
        scored = [
            (sum(math.log(1 + len(known) / spread[word]) for word in shared), place, one)
            for place, one in enumerate(known)  # at equal scores, the later one ranks higher
            if (shared := one.words & asked)
        ]
        return [
            ProvidedText(
                one.text,
                f"said {one.day}",
                f"has {', '.join(sorted(one.words & asked))}",
                from_outsiders=False,  # only words of people are kept
            )
            for _, _, one in sorted(scored, key=lambda each: each[:2], reverse=True)
        ]

    def after(self, run: MemoryContext, said: Sequence[Said]) -> None:
        """Keep the texts of the person or program, without questions, each text once."""
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        texts = [" ".join(one.text.split())[:_MOST_CHARACTERS] for one in said if one.by != "agent"]
        owner = _Owner.of(run)
        with self._lock:
            kept = self._texts.setdefault(owner, {})
            self._texts.move_to_end(owner)
            for text in texts:
                if text and not text.endswith("?"):
                    kept.pop(text.casefold(), None)
                    kept[text.casefold()] = _Text(text, _words(text), day)
            for surplus in list(kept)[:-MOST_TEXTS]:
                del kept[surplus]
            while len(self._texts) > MOST_OWNERS:
                self._texts.popitem(last=False)

    def erase(self, workspace_id: int, user_id: int, agent: str) -> None:
        """Delete what a person has said to one agent, or to all."""
        with self._lock:
            for owner in list(self._texts):
                person = (owner.workspace_id, owner.user_id)
                if person == (workspace_id, user_id) and agent in ("", owner.agent):
                    del self._texts[owner]

    def _of(self, owner: _Owner) -> list[_Text]:
        if owner not in self._texts:
            return []
        self._texts.move_to_end(owner)
        return list(self._texts[owner].values())


def _reach(run: MemoryContext) -> Iterator[_Owner]:
    """Return the owners whose texts a run receives."""
    yield _Owner(run.workspace_id, run.agent, None, None)
    if run.conversation_id is not None:
        yield _Owner(run.workspace_id, run.agent, None, run.conversation_id)
    if run.user_id is not None:
        yield _Owner(run.workspace_id, run.agent, run.user_id, None)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON
