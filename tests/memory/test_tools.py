"""The memory tools through the pipeline: what is remembered is found, by those alone who may."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import transaction

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.base.toolspec import Effect, Label
from memory import agent_tools
from memory.actions.erase import erase_memories
from memory.actions.memories import consolidate, remember, undo
from memory.choices import Scope
from memory.errors import MemoryStateError
from memory.history import Author, MemoryPlace
from memory.models import MemoryChange, MemoryItem
from memory.recall import recall
from memory.scoring import Weights
from tests.tools.calls import context
from tools.calls.pipeline import PreparedCall, execute_here, prepare
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import ToolContext

pytestmark = pytest.mark.django_db

SPECS = Registry()
SPECS.discover([agent_tools])
BY = Author(SYSTEM)
TALK, OTHER_TALK = UUID(int=7), UUID(int=8)


@pytest.fixture
def here(db: None) -> Workspace:
    return Workspace.objects.create(slug="memory-here", name="Here")


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create(username="ann of memory")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create(username="bob")


def of(workspace: Workspace, user: User | None = None, **more: Any) -> ToolContext:
    http = httpx.AsyncClient()
    user_id = None if user is None else user.pk
    return replace(context(http), workspace_id=workspace.pk, user_id=user_id, **more)


def result(here: ToolContext, name: str, **arguments: Any) -> ToolResult:
    prepared = prepare(SPECS, name=name, arguments=json.dumps(arguments), context=here)
    if isinstance(prepared, ToolResult):
        return prepared
    assert isinstance(prepared, PreparedCall)
    with transaction.atomic():
        done = execute_here(prepared, around=transaction.atomic)
    assert isinstance(done, ToolResult)
    return done


def found(here: ToolContext, query: str = "", **more: Any) -> list[dict[str, Any]]:
    done = result(here, "recall", query=query, **more)
    assert done.status == "ok", done.content
    hits: list[dict[str, Any]] = json.loads(done.content)["memories"]
    return hits


def kept(here: ToolContext, text: str, **more: Any) -> MemoryItem:
    done = result(here, "remember", text=text, **more)
    assert done.status == "ok", done.content
    item: MemoryItem = MemoryItem.objects.get(text=text, workspace_id=here.workspace_id)
    return item


def test_the_tools_have_their_effects_and_recall_gives_private_data() -> None:
    assert {name: spec.effect for name, spec in SPECS.items()} == dict.fromkeys(
        ("remember", "update_memory", "forget", "consolidate_memories"), Effect.TRANSACTIONAL
    ) | dict.fromkeys(("recall", "search_knowledge"), Effect.PURE)
    assert SPECS["recall"].labels == {Label.PRIVATE}


def test_what_is_remembered_is_found_by_its_words_and_says_why(here: Workspace, ann: User) -> None:
    item = kept(of(here, ann), "Ann has been drinking green tea since May.", importance=7)
    assert (item.scope, item.user_id, item.language) == ("person", ann.pk, "english")
    [hit] = found(of(here, ann), "drink")
    assert hit["text"] == item.text
    assert hit["why"].startswith("has drinking; learned ")
    assert "importance 7 of 10; not recalled before" in hit["why"]
    [again] = found(of(here, ann), "drink")
    assert "recalled once, last " in again["why"]
    assert found(of(here, ann), "coffee") == []


def test_a_text_is_found_in_its_own_language(here: Workspace, ann: User) -> None:
    item = kept(of(here, ann), "Die Rechnungen werden nicht vor dem Monatsende bezahlt.")
    assert item.language == "german"
    assert [hit["id"] for hit in found(of(here, ann), "Rechnung")] == [item.pk]


def test_no_run_recalls_what_another_person_agent_workspace_or_conversation_told(
    here: Workspace, ann: User, bob: User
) -> None:
    there = Workspace.objects.create(slug="memory-there", name="There")
    kept(of(here, ann), "The person likes tea.")
    kept(of(here, ann, conversation_id=TALK), "The talk is on tea.", only_this_conversation=True)
    kept(of(here), "The agent sells tea.")
    remember(MemoryPlace(here.pk, Scope.WORKSPACE), "The workspace has tea.", by=BY)

    def texts(context: ToolContext) -> set[str]:
        return {hit["text"] for hit in found(context, "tea")}

    shared = {"The agent sells tea.", "The workspace has tea."}
    own = {"The person likes tea."}
    assert texts(of(here, ann, conversation_id=TALK)) == {*shared, *own, "The talk is on tea."}
    assert texts(of(here, ann, conversation_id=OTHER_TALK)) == shared | own
    assert texts(of(here, bob)) == shared
    assert texts(of(here)) == shared
    assert texts(of(here, ann, agent="other")) == {"The workspace has tea."}
    assert texts(of(there, ann)) == set()


def test_no_run_changes_what_it_does_not_own(here: Workspace, ann: User, bob: User) -> None:
    there = Workspace.objects.create(slug="memory-there", name="There")
    item = kept(of(here, ann), "Ann likes tea.")
    shared = kept(of(here), "The agent sells tea.")
    second = kept(of(here, bob), "Bob likes tea.")
    strangers = [of(here, bob), of(here), of(there, ann), of(here, ann, agent="other")]
    tries = [(one, item) for one in strangers] + [(of(here, ann), shared)]
    for one, aim in tries:
        for name, more in (("forget", {}), ("update_memory", {"text": "hacked"})):
            done = result(one, name, id=aim.pk, **more)
            assert done.status == "error", (name, done.content)
            assert f"You have no memory {aim.pk} that you may change" in done.content
    mixed = result(of(here, bob), "consolidate_memories", ids=[second.pk, item.pk], text="x")
    assert mixed.status == "error"
    live = MemoryItem.objects.live().filter(workspace=here)
    assert set(live.values_list("text", flat=True)) == {item.text, shared.text, second.text}


def test_a_fact_is_superseded_with_its_reason_forgotten_and_undone(
    here: Workspace, ann: User
) -> None:
    item = kept(of(here, ann), "Ann lives in Rome.")
    result(of(here, ann), "update_memory", id=item.pk, text="Ann lives in Oslo.", reason="moved")
    assert found(of(here, ann), "Rome") == []
    assert [hit["text"] for hit in found(of(here, ann), "Oslo")] == ["Ann lives in Oslo."]
    assert result(of(here, ann), "forget", id=item.pk).status == "ok"
    assert found(of(here, ann), "Oslo") == []
    changes = [(one.kind, one.reason, one.run_id) for one in item.changes.all()]
    run = of(here).run_id
    assert changes == [
        ("forgotten", "", run),
        ("superseded", "moved", run),
        ("remembered", "", run),
    ]

    undo(item, by=BY)
    assert [hit["text"] for hit in found(of(here, ann), "Oslo")] == ["Ann lives in Oslo."]
    undo(item, by=BY)
    assert [hit["text"] for hit in found(of(here, ann), "Rome")] == ["Ann lives in Rome."]
    with pytest.raises(MemoryStateError, match="no change to undo"):
        undo(item, by=BY)


def test_memories_are_stored_once_and_consolidated_into_one(here: Workspace, ann: User) -> None:
    first = kept(of(here, ann), "Ann likes tea.", importance=3)
    result(of(here, ann), "remember", text="ann likes TEA.")
    second = kept(of(here, ann), "Ann loves green tea.", importance=8)
    assert MemoryItem.objects.filter(workspace=here).count() == 2
    ids = [first.pk, second.pk]
    done = result(of(here, ann), "consolidate_memories", ids=ids, text="Ann loves tea, green most.")
    assert done.status == "ok", done.content
    [hit] = found(of(here, ann), "tea")
    assert hit["text"] == "Ann loves tea, green most."
    assert MemoryItem.objects.get(pk=hit["id"]).importance == 8
    assert f"Consolidated into memory {hit['id']}." in {one.reason for one in first.changes.all()}


@pytest.mark.parametrize("outsiders", [(False, False), (True, False), (False, True)])
def test_what_is_consolidated_is_from_outsiders_if_the_author_or_a_memory_is(
    outsiders: tuple[bool, bool], here: Workspace
) -> None:
    of_item, of_author = (replace(BY, read_outsiders=one) for one in outsiders)
    place = MemoryPlace(here.pk, Scope.WORKSPACE)
    items = [remember(place, "Tea sells.", by=of_item), remember(place, "Rum sells.", by=BY)]
    made = consolidate(items, "Drinks sell.", by=of_author)
    assert made.from_outsiders is any(outsiders)


def test_weights_decide_the_order_and_a_least_score_leaves_out(here: Workspace, ann: User) -> None:
    exact = kept(of(here, ann), "Tea, tea and tea.", importance=1)
    vital = kept(of(here, ann), "Of all drinks that Ann has had she wants tea.", importance=10)
    rows = MemoryItem.objects.filter(workspace=here)

    def order(**weights: float) -> list[int]:
        nothing = {"relevance": 0.0, "recency": 0.0, "importance": 0.0, "strength": 0.0}
        hits = recall(rows, "tea", limit=5, weights=Weights(**(nothing | weights))).hits
        assert all(0 <= hit.score <= 1.0001 for hit in hits)
        return [hit.item.pk for hit in hits]

    assert order(relevance=1) == [exact.pk, vital.pk]
    assert order(importance=1) == [vital.pk, exact.pk]
    important = Weights(0, 0, 1, 0)
    [hit] = recall(rows, "tea", limit=5, weights=important, least_score=0.5).hits
    assert hit.item == vital


def test_hostile_queries_are_words(here: Workspace, ann: User) -> None:
    kept(of(here, ann), "Ann likes tea.")
    for query in (
        "'; DROP TABLE x; --",
        "a & b | !c :*",
        "100% %s",
        "the and of",
        "\\",
        "tea' & '",
    ):
        assert isinstance(found(of(here, ann), query), list)


def test_erasing_a_person_leaves_no_word_behind_and_the_audit_says_only_that(
    here: Workspace, ann: User, bob: User
) -> None:
    canary = "canary-7f3a"
    item = kept(of(here, ann), f"Ann's secret is {canary}.")
    kept(of(here, ann, conversation_id=TALK), f"Talk of {canary}.", only_this_conversation=True)
    result(of(here, ann), "update_memory", id=item.pk, text="Ann has no secret.", reason=canary)
    result(of(here, ann), "forget", id=item.pk, reason=canary)
    undo(item, by=BY)
    other = kept(of(here, bob), "Bob likes tea.")
    assert erase_memories(here, ann, by=SYSTEM) == 2
    left: list[object] = [*MemoryItem.objects.values(), *MemoryChange.objects.values()]
    entries = AuditEntry.objects.filter(workspace=here)
    assert canary not in str([*left, *entries.values()])
    assert [one.text for one in MemoryItem.objects.filter(workspace=here)] == [other.text]
    last = entries.order_by("pk").last()
    assert last is not None
    assert (last.action, last.label, last.details) == ("memory.erase", "ann of memory", {})
