"""Search of knowledge bases on labelled questions: by words, by meaning, and by both.

The manuals are read, divided and embedded as those of a workspace are.
"""

from __future__ import annotations

import functools
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.embed_memories import embed_memories
from memory.actions.ingest_documents import ingest_documents
from memory.actions.save_policy import save_policy
from memory.embeddings.meaning import find_meaning
from memory.knowledge import search
from memory.lexical import NO_LEXEMES
from memory.models import Document, KnowledgeBase, Passage
from tests.bench.said import say
from tests.evals.intervals import share
from tests.evals.manuals import SOURCES, digest, load_manuals
from tests.evals.rankings import GIVEN, RANKINGS, compared, rank_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memory.embeddings.meaning import Meaning
    from memory.knowledge.search import PassageHit
    from tests.evals.manuals import ManualQuestion

SLUG: Final = "evals-knowledge"
DEPTH: Final = 10
#: The held-out part, frozen before anything was tuned; other versions of the packages have another.
_FROZEN: Final = {"aws": "52328bb2847d", "django": "2d1d38d3f451"}


def measure(*, held_out: bool = True) -> Iterator[dict[str, Any]]:
    """Return a row for each source, for all of them together, ranking and metric.

    The baseline of ``fused`` is the better one of the others, theirs is chance.

    Args:
        held_out: False: the questions that are there to tune a search.
    """
    workspace = prepare()
    part = "held out" if held_out else "for tuning"
    together: dict[str, list[int | None]] = {ranking: [] for ranking in RANKINGS}
    sizes: list[int] = []
    for source in SOURCES:
        questions = load_manuals(source).questions
        if digest(questions) != _FROZEN[source]:
            say(f"{source}: not the held-out part that was frozen, but {digest(questions)}")
        passages = Passage.objects.filter(base__workspace=workspace, base__name=source).count()
        asked = [one for one in questions if one.held_out is held_out]
        ranks = {ranking: _ranks(workspace, asked, ranking) for ranking in RANKINGS}
        yield from _rows(f"knowledge, {source}", ranks, part, passages)
        for ranking, found in ranks.items():
            together[ranking] += found
        sizes.append(passages)
    yield from _rows("knowledge, all", together, part, min(sizes))


def prepare() -> Workspace:
    """Return a workspace with a knowledge base for each source, read and embedded."""
    workspace, is_new = Workspace.objects.get_or_create(slug=SLUG, defaults={"name": "Evals"})
    if not is_new:
        return workspace
    began = time.perf_counter()
    for source in SOURCES:
        base, _ = save_base(workspace, source, description="", by=SYSTEM)
        for name, data in load_manuals(source).documents.items():
            save_document(base, name, data, by=SYSTEM)
    ingest_documents(goes_on=lambda: True)
    unread = Document.objects.filter(base__workspace=workspace).exclude(state="ready")
    if unread.exists():
        raise RuntimeError(f"not read: {list(unread.values_list('name', 'problem'))}")
    read = time.perf_counter()
    save_policy(workspace, by=SYSTEM, embedding_model="local", kept_days=None)
    count = embed_memories(goes_on=lambda: True)
    now = time.perf_counter()
    say(f"knowledge: read in {read - began:.0f} s, {count} passages embedded in {now - read:.0f} s")
    return workspace


def find(
    workspace: Workspace, question: ManualQuestion, ranking: str = "fused", *, limit: int = DEPTH
) -> list[PassageHit]:
    """Return the passages of the question's base, the best first."""
    bases = KnowledgeBase.objects.filter(workspace=workspace, name=question.source)
    with _only(ranking):
        known = 0 if ranking == "lexical" else workspace.pk  # without a workspace: by words alone
        return search.search_passages(bases, question.text, workspace_id=known, limit=limit).hits


def answers(hit: PassageHit, question: ManualQuestion) -> bool:
    """Return True if a passage is of the section that answers the question."""
    passage = hit.passage
    return passage.document.name == question.document and question.section in passage.headings


@functools.cache
def _meaning(workspace_id: int, query: str) -> Meaning:
    """Embed each question once, for all rankings."""
    return find_meaning(workspace_id, query, waiting=lambda _: Passage.objects.none())


@contextmanager
def _only(ranking: str) -> Iterator[None]:
    with ExitStack() as stack:
        cached: Callable[..., Meaning] = lambda known, query, **_: _meaning(known, query)  # noqa: E731
        stack.enter_context(patch.object(search, "find_meaning", cached))
        if ranking == "vector":
            stack.enter_context(patch.object(search, "find_lexemes", lambda *_: NO_LEXEMES))
        yield


def _ranks(workspace: Workspace, asked: Sequence[ManualQuestion], ranking: str) -> list[int | None]:
    """Return the rank of each question's answer; None: it is not among the first."""
    began = time.perf_counter()
    found = [_rank(find(workspace, one, ranking), one) for one in asked]
    took = (time.perf_counter() - began) / len(asked) * 1000
    say(f"{asked[0].source}, {ranking}: {took:.0f} ms each")
    return found


def _rows(
    name: str, ranks: Mapping[str, Sequence[int | None]], part: str, passages: int
) -> Iterator[dict[str, Any]]:
    """Return the rows of rankings of the same questions, over a number of passages."""
    best: dict[str, float] = {}
    for ranking, found in ranks.items():
        for metric, value in rank_metrics(found).items():
            chance = min(1.0, float(metric.partition("@")[2]) / passages)
            row = {
                "name": f"{name}, {ranking}, {part}",
                "metric": metric,
                "value": round(value, 4),
                "baseline": round(best[metric] if ranking == "fused" else chance, 4),
                "n": len(found),
            }
            if metric == f"recall@{GIVEN}":
                row["interval"] = share(round(value * len(found)), len(found))
            yield row
            best[metric] = max(value, best.get(metric, 0.0))
    yield from compared(name, ranks, part)


def _rank(hits: Sequence[PassageHit], question: ManualQuestion) -> int | None:
    """Return the rank of the first passage that answers, from 1; None: none does."""
    return next((place for place, hit in enumerate(hits, 1) if answers(hit, question)), None)
