"""Recall by words, by meaning, and by both, on labelled questions."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from memory import recall as recalling
from memory.actions.embed_memories import embed_memories
from memory.actions.memories import remember
from memory.actions.save_policy import save_policy
from memory.choices import Scope
from memory.history import Author
from memory.lexical import NO_LEXEMES
from memory.models import MemoryItem
from memory.place import MemoryPlace
from tests.bench.said import say
from tests.evals.questions import load_questions
from tests.evals.rankings import RANKINGS, compared, rank_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.evals.questions import Question

_AGENT: Final = "evals"
_DEPTH: Final = 10


def measure() -> Iterator[dict[str, Any]]:
    """Return a row for each ranking, part and metric; the baseline of ``fused`` is the better one.

    That of the others is chance.
    """
    questions = load_questions()
    workspace = Workspace.objects.create(slug="evals-recall", name="Evals")
    say(f"recall: {len(questions)} questions about as many texts, embedded first")
    place = MemoryPlace(workspace.pk, Scope.AGENT, _AGENT)
    ids = {one.answer: remember(place, one.answer, by=Author(SYSTEM)).pk for one in questions}
    save_policy(workspace, by=SYSTEM, embedding_model="local", kept_days=None)
    embed_memories(goes_on=lambda: True)
    for held_out in (False, True):
        asked = [one for one in questions if one.held_out is held_out]
        best: dict[str, float] = {}
        ranks: dict[str, list[int | None]] = {}
        for ranking in RANKINGS:
            began = time.perf_counter()
            places = [_place(workspace.pk, one, ids, ranking) for one in asked]
            ranks[ranking] = places
            say(f"{ranking}: {(time.perf_counter() - began) / len(asked) * 1000:.0f} ms each")
            for metric, value in rank_metrics(places).items():
                chance = _chance(metric, len(ids))
                yield {
                    "name": f"recall, {ranking}, {'held out' if held_out else 'for tuning'}",
                    "metric": metric,
                    "value": round(value, 4),
                    "baseline": round(best[metric] if ranking == "fused" else chance, 4),
                    "n": len(asked),
                }
                best[metric] = max(value, best.get(metric, 0.0))
        part = "held out" if held_out else "for tuning"
        yield from compared("recall", ranks, part)


def _place(workspace_id: int, question: Question, ids: dict[str, int], ranking: str) -> int | None:
    """Return the rank of the answer from 1; None: it is not among the first."""
    rows = MemoryItem.objects.recalled_by(workspace_id, _AGENT)
    with _only(ranking):
        hits = recalling.recall(
            rows,
            question.text,
            limit=_DEPTH,
            workspace_id=None if ranking == "lexical" else workspace_id,
        ).hits
    found = [hit.item.pk for hit in hits]
    wanted = ids[question.answer]
    return found.index(wanted) + 1 if wanted in found else None


@contextmanager
def _only(ranking: str) -> Iterator[None]:
    """Leave words out of recall for ``vector``; without a workspace, it leaves meaning out."""
    with ExitStack() as stack:
        if ranking == "vector":
            stack.enter_context(patch.object(recalling, "find_lexemes", lambda *_: NO_LEXEMES))
        yield


def _chance(metric: str, size: int) -> float:
    ranks = {"recall@1": [1.0], "recall@5": [1.0] * 5}
    return sum(ranks.get(metric, [1 / rank for rank in range(1, _DEPTH + 1)])) / size
