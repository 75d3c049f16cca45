"""Recall among so many memories that the commonest words are not looked for."""

from __future__ import annotations

import pytest
from django.db import connection

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.lexical import MOST_MATCHED
from memory.models import MemoryItem
from memory.place import MemoryPlace
from memory.recall import recall

pytestmark = pytest.mark.django_db

_MANY = """
INSERT INTO memory_memoryitem (workspace_id, scope, agent, category, text, importance, metadata,
    language, search)
SELECT %s, 'agent', 'seller', 'fact', t, 5, '{}', 'english', to_tsvector('english', t)
FROM generate_series(1, %s) n, LATERAL (SELECT 'Customer ' || n || ' buys tea.' AS t)
"""


def test_a_word_of_most_memories_finds_among_few_and_ranks_among_many(db: None) -> None:
    here = Workspace.objects.create(slug="memory-many", name="Here")
    with connection.cursor() as cursor:
        cursor.execute(_MANY, [here.pk, 2 * MOST_MATCHED])
        cursor.execute("ANALYZE memory_memoryitem (search)")
    by = Author(SYSTEM)
    few = MemoryPlace(here.pk, Scope.AGENT, "other")
    tea = remember(few, "Tea is sold out.", by=by)
    many = MemoryPlace(here.pk, Scope.AGENT, "seller")
    rare = remember(many, "A customer wants rooibos.", by=by)

    def found(agent: str, query: str) -> list[str]:
        rows = MemoryItem.objects.recalled_by(here.pk, agent)
        return [hit.item.text for hit in recall(rows, query, limit=3).hits]

    assert found("other", "customer with tea") == [tea.text]
    assert found("seller", "customer with rooibos") == [rare.text]
    assert len(found("seller", "customer with tea")) == 3
