"""RECALL: recall among ten thousand, a hundred thousand and a million memories of one agent.

Texts and queries are of made-up words as frequent as words of notes are: the commonest is in one
text of fifteen. One text in six is German.
"""

from __future__ import annotations

import random
import time
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from django.contrib.auth.models import User
from django.db import connection

from heartbit_site.base.models import Workspace
from memory.choices import Scope
from memory.models import MemoryItem
from memory.recall import recall
from tests.bench.bulk import settle
from tests.bench.figures import Figure, Row, percentile
from tests.bench.said import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.querysets import MemoryQuerySet
    from tests.bench.plan import Plan

#: Milliseconds, median, by the number of memories.
TARGETS: Final = {10_000: 15.0, 100_000: 15.0, 1_000_000: 40.0}
AGENT, OTHER = "bench", "bench-person"
OF_PERSON: Final = 200
_WARM_UP: Final = 20
_SYLLABLES: Final = ("ba", "cor", "din", "fel", "gus", "lom", "mir", "nep", "rot", "suk", "tav")
_VOCABULARY: Final = 20_000
_OFFSET: Final = 20  # of Mandelbrot: stop words are not drawn, so that no word is in most texts
_FRAMES: Final = (
    *(("english", "The {} of {} has {} since {}, and its {} is {} for {} with {}."),) * 5,
    ("german", "Die {} von {} hat {} seit {}, und ihre {} ist nicht {} für {} mit {}."),
)


def measure(plan: Plan) -> Iterator[Row]:
    """Its rows, a size each; the larger contain the smaller."""
    workspace = Workspace.objects.create(slug="bench-recall", name="Bench")
    person = User.objects.create(username="bench-recall")
    try:
        words = Words()
        there = 0
        _store(words, OF_PERSON, workspace.pk, Scope.PERSON, OTHER, person.pk)
        for size, target in TARGETS.items():
            if size > plan.memories:
                return
            say(f"RECALL: {size:,} memories")
            _store(words, size - there, workspace.pk, Scope.AGENT, AGENT, None)
            there = size
            settle()
            rows = MemoryItem.objects.recalled_by(workspace.pk, AGENT)
            own = MemoryItem.objects.recalled_by(workspace.pk, OTHER, user_id=person.pk)
            every, own_ms = _times(rows, words, plan.recalls), _times(own, words, plan.recalls)
            figures = (
                Figure("p50", percentile(every, 0.5), "ms", target),
                Figure("p95", percentile(every, 0.95)),
                Figure(f"p50, a person with {OF_PERSON}", percentile(own_ms, 0.5), "ms", 15.0),
            )
            yield Row("RECALL", f"{size:,} memories", figures, {"table_mb": _megabytes()})
    finally:
        with connection.cursor() as cursor:  # one by one, cascades would take minutes
            cursor.execute("DELETE FROM memory_memoryitem WHERE workspace_id = %s", [workspace.pk])
        workspace.delete()
        person.delete()


class Words:
    """Words by Zipf's law in Mandelbrot's form, the same ones each time."""

    def __init__(self) -> None:
        self.random = random.Random(7)  # noqa: S311  no secret
        made = {"".join(self.random.choices(_SYLLABLES, k=3)) for _ in range(3 * _VOCABULARY)}
        longer = ("".join(self.random.choices(_SYLLABLES, k=5)) for _ in range(_VOCABULARY))
        self._words = list(dict.fromkeys([*sorted(made), *longer]))[:_VOCABULARY]
        self.random.shuffle(self._words)
        weights = (1 / (rank + _OFFSET) for rank in range(1, len(self._words) + 1))
        self._sums = list(accumulate(weights))

    def some(self, count: int) -> list[str]:
        return self.random.choices(self._words, cum_weights=self._sums, k=count)

    def sentence(self) -> tuple[str, str]:
        """Return a language and a text in it."""
        language, frame = self.random.choice(_FRAMES)
        return language, frame.format(*self.some(8))


def _store(
    words: Words, count: int, workspace: int, scope: Scope, agent: str, user: int | None
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE bench_text (language text, text text)")
        with cursor.copy("COPY bench_text FROM STDIN") as copy:
            for _ in range(count):
                copy.write_row(words.sentence())
        cursor.execute(
            "INSERT INTO memory_memoryitem (workspace_id, scope, agent, user_id, category, text, "
            "importance, metadata, language, search, use_count, updated_at) "
            "SELECT %s, %s, %s, %s, 'fact', text, 1 + (random() * 9)::int, '{}', language, "
            "to_tsvector(language::regconfig, text), (random() * 3)::int, "
            "now() - random() * interval '90 days' FROM bench_text",
            [workspace, scope, agent, user],
        )
        cursor.execute("DROP TABLE bench_text")


def _megabytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('memory_memoryitem') / 1000000")
        (found,) = cursor.fetchone()
    return int(found)


def _times(rows: MemoryQuerySet, words: Words, count: int) -> list[float]:
    """Return the milliseconds of recalls by questions of one to five words."""
    found = []
    for n in range(count + _WARM_UP):
        query = f"What is the {' and '.join(words.some(1 + n % 5))}?"
        began = time.perf_counter()
        recall(rows, query, limit=8)
        found.append((time.perf_counter() - began) * 1000)
    return found[_WARM_UP:]
