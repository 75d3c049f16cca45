"""Recall by meaning: with the local model, with a provider's, while the model changes, without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection

from agents.actions.provider_accounts import save_provider_account
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import ProviderAccount, Workspace
from memory.actions.collections import NewItem, create_collection, upsert_items
from memory.actions.memories import remember, supersede
from memory.actions.policy import embed_memories, save_policy
from memory.actions.search_collection import search_collection
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.models import MemoryEmbedding, MemoryItem, MemoryPolicy
from memory.recall import Recalled, recall
from tests.memory import embeddings_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from tests.memory.embeddings_server import EmbeddingsServer

pytestmark = pytest.mark.django_db

BY = Author(SYSTEM)
KEY = "sk-canary-of-embeddings"


@pytest.fixture
def here(db: None) -> Workspace:
    made = Workspace.objects.create(slug="memory-meaning", name="Here")
    for text in ("Ann prefers green tea.", "The invoice is due.", "Bob lives in Oslo."):
        remember(MemoryPlace(made.pk, Scope.AGENT, "writer"), text, by=BY)
    return made


@pytest.fixture
def server(settings: Settings) -> Iterator[EmbeddingsServer]:
    with embeddings_server.running() as server:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{server.server_port}"
        yield server


@pytest.fixture
def account(here: Workspace, server: EmbeddingsServer) -> ProviderAccount:
    row = ProviderAccount(workspace=here, provider="compatible", base_url=server.url)
    save_provider_account(row, key=KEY, by=SYSTEM)
    return row


def found(here: Workspace, query: str) -> Recalled:
    rows = MemoryItem.objects.recalled_by(here.pk, "writer")
    return recall(rows, query, limit=3, workspace_id=here.pk)


def embed_all() -> int:
    return embed_memories(goes_on=lambda: True)


def use(here: Workspace, model: str) -> MemoryPolicy:
    return save_policy(here, by=SYSTEM, embedding_model=model, kept_days=None)


def test_without_a_model_recall_is_by_words_and_says_so(here: Workspace) -> None:
    assert found(here, "beverages").hits == []
    assert found(here, "tea").basis == "words only: there is no embedding model"
    assert embed_all() == 0


def test_the_local_model_finds_what_shares_no_word_in_another_language(here: Workspace) -> None:
    policy = use(here, "local")
    assert policy.dimensions == 384
    assert found(here, "tea").basis == "words, and meaning where texts are embedded"
    assert embed_all() == 3
    answer = found(here, "Welche Getränke mag sie?")
    assert answer.basis == "words and meaning"
    assert answer.hits[0].item.text == "Ann prefers green tea."
    assert answer.hits[0].why.startswith("closest in meaning; learned ")
    both = found(here, "tea").hits[0]
    assert both.why.startswith("has tea and closest in meaning; ")
    assert both.relevance == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_indexes WHERE indexname = 'memory_embedding_384'")
        assert cursor.fetchone() == (1,)


def test_another_model_embeds_again_while_recall_answers(
    here: Workspace, account: ProviderAccount, server: EmbeddingsServer
) -> None:
    use(here, "local")
    embed_all()
    assert use(here, "compatible:tiny").dimensions == 3
    assert [hit.item.text for hit in found(here, "tea").hits] == ["Ann prefers green tea."]
    assert embed_all() == 3
    assert embed_all() == 0
    assert found(here, "a beverage").hits[0].item.text == "Ann prefers green tea."
    key, body = server.asked[-1]
    assert (key, body) == (f"Bearer {KEY}", {"model": "tiny", "input": ["a beverage"]})


def test_a_changed_text_is_embedded_again_and_a_deleted_one_leaves_no_vector(
    here: Workspace, account: ProviderAccount
) -> None:
    use(here, "compatible:tiny")
    embed_all()
    item = MemoryItem.objects.get(workspace=here, text__contains="tea")
    supersede(item, by=BY, text="Ann has moved.")
    assert "Ann has moved." not in [hit.item.text for hit in found(here, "beverage").hits]
    assert embed_memories(goes_on=lambda: False) == 0, "it has to stop"
    assert embed_all() == 1
    MemoryItem.objects.filter(workspace=here).delete()
    assert not MemoryEmbedding.objects.filter(item__workspace=here).exists()


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (401, b'{"error": {"message": "no"}}'),
        (200, b"[]"),
        (200, b'{"data": [{"embedding": ["x"]}]}'),
    ],
)
def test_a_model_that_does_not_answer_leaves_words_and_a_sentence_without_the_key(
    here: Workspace, account: ProviderAccount, server: EmbeddingsServer, status: int, answer: bytes
) -> None:
    use(here, "compatible:tiny")
    server.broken = (status, answer)
    assert embed_all() == 0
    problem = MemoryPolicy.objects.get(workspace=here).problem
    assert "compatible:tiny at 127.0.0.1" in problem
    assert KEY not in problem
    got = found(here, "tea")
    assert got.basis == "words only: the embedding model does not answer"
    assert [hit.item.text for hit in got.hits] == ["Ann prefers green tea."]
    server.broken = None
    assert embed_all() == 3
    assert MemoryPolicy.objects.get(workspace=here).problem == ""


def test_a_server_s_limit_of_texts_is_learned_once(
    here: Workspace, account: ProviderAccount, server: EmbeddingsServer
) -> None:
    for number in range(40):
        remember(MemoryPlace(here.pk, Scope.AGENT, "writer"), f"Note {number}.", by=BY)
    use(here, "compatible:tiny")
    server.most_texts = 10
    server.asked.clear()
    assert embed_all() == 43
    sizes = [len(body["input"]) for _, body in server.asked]
    assert sizes == [32, 16, 8, 8, 8, 8, 8, 3]
    assert MemoryPolicy.objects.get(workspace=here).problem == ""
    assert found(here, "a beverage").basis == "words and meaning"


def test_a_refused_text_costs_the_others_nothing_and_is_named(
    here: Workspace, account: ProviderAccount, server: EmbeddingsServer
) -> None:
    use(here, "compatible:older")
    embed_all()
    use(here, "compatible:tiny")
    item = MemoryItem.objects.get(workspace=here, text__contains="tea")
    supersede(item, by=BY, text="Ann prefers green tea from Darjeeling.")
    server.most_characters = 30
    assert embed_all() == 3
    policy = MemoryPolicy.objects.get(workspace=here)
    long = MemoryItem.objects.get(workspace=here, text__contains="Darjeeling")
    assert policy.problem == (
        "compatible:tiny refused 1 text, found by words only (they may be too long for it): "
        f"memory {long.pk}. Save the settings again to retry."
    )
    assert found(here, "money").hits[0].item.text == "The invoice is due."
    assert long.pk in [hit.item.pk for hit in found(here, "Darjeeling").hits]
    assert not MemoryEmbedding.objects.filter(item=long).exists()
    server.asked.clear()
    assert embed_all() == 0
    assert not server.asked
    assert MemoryPolicy.objects.get(workspace=here).problem == policy.problem
    supersede(long, by=BY, text="Ann prefers tea.")
    assert embed_all() == 1
    assert MemoryPolicy.objects.get(workspace=here).problem == ""


def test_a_refused_text_is_tried_again_once_the_settings_are_saved_again(
    here: Workspace, account: ProviderAccount, server: EmbeddingsServer
) -> None:
    use(here, "compatible:tiny")
    server.most_characters = 20
    embed_all()
    refused = MemoryItem.objects.filter(workspace=here, embedded_with="!compatible:tiny")
    count = refused.count()
    assert count
    server.most_characters = 1_000
    assert embed_all() == 0
    use(here, "compatible:tiny")
    assert embed_all() == count
    assert not refused.exists()
    assert MemoryPolicy.objects.get(workspace=here).problem == ""


def test_a_server_that_refuses_every_text_is_a_problem_and_marks_none(
    here: Workspace, account: ProviderAccount, server: EmbeddingsServer
) -> None:
    use(here, "compatible:tiny")
    server.broken = (400, b'{"error": {"message": "no such model"}}')
    assert embed_all() == 0
    assert "no such model" in MemoryPolicy.objects.get(workspace=here).problem
    server.broken = None
    assert embed_all() == 3


def test_a_server_that_begins_to_refuse_every_text_is_a_problem_and_marks_none(
    here: Workspace,
    account: ProviderAccount,
    server: EmbeddingsServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(here, "compatible:tiny")
    server.asked.clear()
    monkeypatch.setattr(server, "refuses", lambda texts: len(texts) > 1 or bool(server.asked[2:]))
    assert embed_all() == 0
    assert "compatible:tiny" in MemoryPolicy.objects.get(workspace=here).problem
    assert not MemoryItem.objects.filter(workspace=here, embedded_with__startswith="!").exists()


@pytest.mark.parametrize("model", ["nonsense", "anthropic:claude", "openai:", "openai:small"])
def test_a_model_that_cannot_be_used_is_refused_with_the_field(here: Workspace, model: str) -> None:
    with pytest.raises(HeartbitError, match=r"add one|write local") as refused:
        use(here, model)
    assert refused.value.field == "embedding_model"
    assert not MemoryPolicy.objects.filter(workspace=here).exists()


def test_items_of_a_collection_are_embedded_and_found_by_meaning(here: Workspace) -> None:
    collection = create_collection(here, "notes", by=SYSTEM)
    items = [NewItem("a", "Ann prefers green tea."), NewItem("b", "The invoice is due.")]
    assert upsert_items(collection, items, by=SYSTEM) == 2
    use(here, "local")
    assert embed_all() == 5
    [first, *_] = search_collection(collection, query="Welche Getränke mag sie?").hits
    assert first.item.key == "a"
    assert first.similarity is not None
    assert upsert_items(collection, [NewItem("a", "Bob lives in Oslo.")], by=SYSTEM) == 0
    assert embed_all() == 1, "a changed text is embedded again"
    with pytest.raises(HeartbitError, match="leave it out"):
        upsert_items(collection, [NewItem("a", "x", [1.0])], by=SYSTEM)
