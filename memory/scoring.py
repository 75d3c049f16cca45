# ruff: noqa: S608  the statement consists of constants and the SQL of hits
"""Scores of memories, in plain words, and the words that a text shares with a query.

A score is the weighted mean of four parts between 0 and 1:

* relevance: the fused rankings by the query (``memory.fusion``);
* recency: halves every 30 days after the last change;
* importance: a tenth of the memory's importance;
* strength: exp(-t / S), where t is the time since the last use, and the stability S is a week and
  grows by another one with each use (Ebbinghaus 1885).

Their sum follows Park et al. 2023 (Generative Agents). The database filters, ranks and sums, so
that only hits leave it.
"""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, fields
from typing import Final

_MARKED: Final = re.compile("\x02([^\x02\x03]*)\x03")
_MOST_WORDS: Final = 5


def marked_text(row: str) -> str:
    """Return SQL of a text in which its words of the query are marked.

    Args:
        row: Name of what has the columns ``text`` and ``language``; beside it stands ``asked``,
            as in ``memory.fusion``.
    """
    return f"""
        coalesce(ts_headline({row}.language::regconfig, {row}.text,
            (SELECT words FROM asked a WHERE a.language = {row}.language),
            'HighlightAll=true, StartSel=' || chr(2) || ', StopSel=' || chr(3)), '')
    """


def marked_words(text: str) -> tuple[str, ...]:
    """Return the first words that are marked in a text."""
    return tuple(dict.fromkeys(_MARKED.findall(text)))[:_MOST_WORDS]


_HALF_LIFE_DAYS: Final = 30
_STABILITY_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the parts of a score; only their ratios matter."""

    relevance: float = 2.0
    recency: float = 1.0
    importance: float = 1.0
    strength: float = 0.5

    def values(self) -> tuple[float, ...]:
        """Return the weights that add up to 1, in the order of the fields; all 0: the default."""
        given: tuple[float, ...] = astuple(self)
        total = sum(given)
        return tuple(each / total for each in given) if total > 0 else Weights().values()


#: Names of the parts of a score.
PARTS: Final = tuple(field.name for field in fields(Weights))


def statement(hits: str) -> str:
    """Return the statement that scores hits.

    Args:
        hits: SQL of rows (id, relevance, nearness), as from ``memory.fusion``.

    The placeholders before theirs are the languages and the query's words in each; those after
    them the four weights, the minimum score, and the number of rows.
    """
    return f"""
    WITH asked AS (SELECT * FROM unnest(%s::text[], %s::tsquery[]) a(language, words)),
    hits AS ({hits}),
    parts AS (
        SELECT m.id, m.text, m.language, h.nearness,
            h.relevance::float8 AS relevance,
            power(0.5, extract(epoch FROM now() - m.updated_at)::float8
                / {_HALF_LIFE_DAYS * 86_400}) AS recency,
            m.importance / 10.0::float8 AS importance,
            exp(-extract(epoch FROM now() - coalesce(m.used_at, m.created_at))::float8
                / ({_STABILITY_DAYS * 86_400} * (1.0 + m.use_count))) AS strength
        FROM hits h JOIN memory_memoryitem m USING (id)
    ),
    scored AS (
        SELECT p.*, w.r * relevance + w.c * recency + w.i * importance + w.s * strength AS score
        FROM parts p, (SELECT %s::float8 AS r, %s::float8 AS c, %s::float8 AS i, %s::float8 AS s) w
    )
    SELECT s.id, s.score, s.relevance, s.recency, s.importance, s.strength, s.nearness,
        {marked_text("s")} AS marked
    FROM scored s
    WHERE s.score >= %s ORDER BY s.score DESC, s.id DESC LIMIT %s
    """
