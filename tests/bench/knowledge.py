"""KNOWLEDGE: pages of a PDF read a second, and searches of a base of a hundred thousand passages.

The PDF has some 1,800 characters a page, of made-up words as frequent as words of notes are. The
vectors of the passages are random; a search by meaning embeds its question with the local model.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.db import connection

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from memory.actions.bases import remove_base, save_base
from memory.actions.documents import save_document
from memory.actions.ingest_documents import ingest_documents
from memory.actions.save_policy import save_policy
from memory.embeddings.embedder import LOCAL
from memory.embeddings.table import require_index
from memory.knowledge.search import search_passages
from memory.models import Document, KnowledgeBase, MemoryPolicy, Passage
from tests.bench.bulk import settle
from tests.bench.figures import Figure, Row, percentile
from tests.bench.recall import Words
from tests.bench.said import say
from tests.memory.knowledge.documents import pdf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.plan import Plan

#: On two processors.
PAGES_A_SECOND = 50.0
SEARCH_MS = 50.0
_WARM_UP = 10
_SENTENCES_A_PAGE = 20


def measure(plan: Plan) -> Iterator[Row]:
    """Its two rows."""
    workspace = Workspace.objects.create(slug="bench-knowledge", name="Bench")
    base, _ = save_base(workspace, "bench", description="", by=SYSTEM)
    words = Words()
    try:
        yield _ingestion(plan, base, words)
        say(f"KNOWLEDGE: {plan.passages:,} passages")
        _store(words, plan.passages - Passage.objects.filter(base=base).count(), base)
        settle()
        by_words = _times(workspace, words, plan.recalls)
        policy = save_policy(workspace, by=SYSTEM, embedding_model=LOCAL, kept_days=None)
        _embed(base, policy)
        settle()
        figures = (
            Figure("p50, words", percentile(by_words, 0.5), "ms", SEARCH_MS),
            Figure("p95, words", percentile(by_words, 0.95)),
            Figure(
                "p50, words and meaning",
                percentile(_times(workspace, words, plan.recalls), 0.5),
                "ms",
                2 * SEARCH_MS,
            ),
        )
        yield Row("KNOWLEDGE", f"{plan.passages:,} passages", figures, {"table_mb": _megabytes()})
    finally:
        remove_base(base, by=SYSTEM)
        MemoryPolicy.objects.filter(workspace=workspace).delete()
        with connection.cursor() as cursor:  # entries of the audit stay
            cursor.execute(
                "UPDATE base_workspace SET slug = slug || id WHERE id = %s", [workspace.pk]
            )


def _ingestion(plan: Plan, base: KnowledgeBase, words: Words) -> Row:
    say(f"KNOWLEDGE: a PDF of {plan.pages:,} pages")
    data = pdf([_page(words) for _ in range(plan.pages)])
    row, _ = save_document(base, "bench.pdf", data, by=SYSTEM)
    began = time.perf_counter()
    ingest_documents(goes_on=lambda: True)
    seconds = time.perf_counter() - began
    row.refresh_from_db()
    if row.pages_read != plan.pages:
        raise RuntimeError(f"{row.pages_read} of {plan.pages} pages were read: {row.problem}")
    figure = Figure("pages/s", plan.pages / seconds, "", PAGES_A_SECOND, at_least=True)
    more = {"passages": row.passage_count, "megabytes": round(len(data) / 1e6, 1)}
    return Row("KNOWLEDGE", "a PDF is read", (figure,), more)


def _page(words: Words) -> str:
    lines = (words.sentence()[1] for _ in range(_SENTENCES_A_PAGE))
    return "\n".join(lines).encode("latin-1", "replace").decode("latin-1")


def _store(words: Words, count: int, base: KnowledgeBase) -> None:
    row, _ = save_document(base, "stored.md", b"x", by=SYSTEM)
    Document.objects.filter(pk=row.pk).update(state="ready", passage_count=count)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE bench_text (place serial, language text, text text)")
        with cursor.copy("COPY bench_text (language, text) FROM STDIN") as copy:
            for _ in range(count):
                language, first = words.sentence()
                copy.write_row((language, " ".join([first, *words.some(80)])))
        cursor.execute(
            "INSERT INTO memory_passage (document_id, base_id, position, headings, text, language, "
            "search) SELECT %s, %s, place, '{}', text, language, "
            "to_tsvector(language::regconfig, text) FROM bench_text",
            [row.pk, base.pk],
        )
        cursor.execute("DROP TABLE bench_text")


def _embed(base: KnowledgeBase, policy: MemoryPolicy) -> None:
    with connection.cursor() as cursor:
        index = f"memory_passage_embedding_{policy.dimensions}"
        cursor.execute(f"DROP INDEX IF EXISTS {index}")
        cursor.execute(
            "INSERT INTO memory_passage_embedding (passage_id, vector) "
            "SELECT p.id, ARRAY(SELECT random() - 0.5 + p.id * 0 FROM generate_series(1, %s))"
            "::real[]::halfvec FROM memory_passage p WHERE p.base_id = %s",
            [policy.dimensions, base.pk],
        )
        cursor.execute(
            "UPDATE memory_passage SET embedded_with = %s WHERE base_id = %s", [LOCAL, base.pk]
        )
    require_index(policy.dimensions or 0)


def _megabytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (pg_total_relation_size('memory_passage') "
            "+ pg_total_relation_size('memory_passage_embedding')) / 1000000"
        )
        (found,) = cursor.fetchone()
    return int(found)


def _times(workspace: Workspace, words: Words, count: int) -> list[float]:
    """Return the milliseconds of searches by questions of one to five words."""
    bases = KnowledgeBase.objects.filter(workspace=workspace)
    found = []
    for n in range(count + _WARM_UP):
        query = f"What is the {' and '.join(words.some(1 + n % 5))}?"
        began = time.perf_counter()
        search_passages(bases, query, workspace_id=workspace.pk, limit=5)
        found.append((time.perf_counter() - began) * 1000)
    return found[_WARM_UP:]
