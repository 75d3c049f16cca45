"""Passages are found by words and by meaning, in one's own bases only, and cited exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.provider_accounts import save_provider_account
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import ProviderAccount, Workspace
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.embed_memories import embed_memories
from memory.actions.ingest_documents import ingest_documents
from memory.actions.save_policy import save_policy
from memory.knowledge.search import FoundPassages, search_passages
from memory.models import KnowledgeBase
from tests.memory import embeddings_server
from tests.memory.knowledge import documents

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

GERMAN = "# Reisen\n\nBahnfahrten werden in der zweiten Klasse gebucht."


@pytest.fixture
def here(db: None) -> Workspace:
    made = Workspace.objects.create(slug="search-here", name="Here")
    other = Workspace.objects.create(slug="search-other", name="Other")
    for workspace in (made, other):
        base, _ = save_base(workspace, "handbook", description="", by=SYSTEM)
        save_document(base, "handbook.pdf", documents.pdf_handbook(), by=SYSTEM)
    german, _ = save_base(made, "deutsch", description="", by=SYSTEM)
    save_document(german, "Handbuch.md", GERMAN.encode(), by=SYSTEM)
    ingest_documents(goes_on=lambda: True)
    return made


def found(here: Workspace, query: str, *names: str) -> FoundPassages:
    bases = KnowledgeBase.objects.filter(workspace=here)
    bases = bases.filter(name__in=names) if names else bases
    return search_passages(bases, query, workspace_id=here.pk, limit=5)


def test_a_workspace_without_a_base_finds_nothing_of_others(here: Workspace) -> None:
    empty = Workspace.objects.create(slug="search-empty", name="Empty")
    assert found(empty, "How do I book a train?").hits == []


def test_without_a_model_words_find_in_each_language_and_the_answer_says_so(
    here: Workspace,
) -> None:
    answer = found(here, "How do I book a train?")
    assert "no embedding" in answer.basis
    [hit] = answer.hits
    assert hit.citation == "handbook.pdf, page 2: Travel"
    assert hit.passage.base.workspace_id == here.pk
    assert hit.words == ("Trains", "booked")
    assert hit.why == "has Trains, booked"
    [german] = found(here, "Bahnfahrt buchen").hits
    assert german.citation == "Handbuch.md: Reisen"
    assert found(here, "Bahnfahrt buchen", "handbook").hits == []
    assert found(here, "").hits == found(here, "the of").hits == []


def test_a_heading_or_the_documents_name_finds_what_stands_below_it(here: Workspace) -> None:
    [hit] = found(here, "security").hits
    assert hit.citation == "handbook.pdf, page 3: Security"
    assert hit.why == "its headings have the words"


def test_a_rare_word_counts_more_than_several_common_ones(here: Workspace) -> None:
    base, _ = save_base(here, "tools", description="", by=SYSTEM)
    lists = "".join(f"## Part {n}\n\nList every group of part {n}.\n\n" for n in range(9))
    save_document(base, "t.md", f"{lists}## Last\n\nA quota applies.".encode(), by=SYSTEM)
    ingest_documents(goes_on=lambda: True)
    first, *others = found(here, "List every quota of a group", "tools").hits
    assert first.citation == "t.md: Last"
    assert len(others) == 4


def test_with_a_model_meaning_finds_what_shares_no_word_and_both_are_fused(
    here: Workspace, settings: Settings
) -> None:
    with embeddings_server.running() as server:
        server.topics = (("holiday", "vacation"), ("Train", "railway"), ("laptop", "computer"))
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{server.server_port}"
        account = ProviderAccount(workspace=here, provider="compatible", base_url=server.url)
        save_provider_account(account, key="sk-canary", by=SYSTEM)
        save_policy(here, by=SYSTEM, embedding_model="compatible:tiny", kept_days=None)
        partly = found(here, "vacation").basis
        assert "where texts" in partly
        assert embed_memories(goes_on=lambda: True) == 4
        # What is embedded says where it stands.
        assert any("handbook.pdf > Travel\nTrains are" in text for text in server.texts)
        answer = found(here, "vacation")
        assert answer.basis.endswith("and meaning")
        assert answer.hits[0].citation == "handbook.pdf, page 1: Holidays"
        assert answer.hits[0].why == "closest in meaning"
        both = found(here, "booked railway")
        assert both.hits[0].citation == "handbook.pdf, page 2: Travel"
        assert both.hits[0].score == 1
        assert both.hits[0].why == "has booked and closest in meaning"
        server.broken = (500, b"")
        assert "not answer" in found(here, "train").basis
