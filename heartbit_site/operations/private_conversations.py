"""Private conversations for those who manage the workspace: owner, state and cost."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import OuterRef, Subquery

from agents.models import Conversation
from agents.reads.outcome import cost_of
from heartbit_site.base.access import Access
from heartbit_site.base.query import fetch_named
from heartbit_site.contract.model import Cursor, Limit
from heartbit_site.contract.private_conversations import (
    PrivateConversationOut,
    PrivateConversationPageOut,
)
from heartbit_site.operations.messages_of_conversations import with_activity
from heartbit_site.operations.paging import page

_FIGURES: Final = """
    SELECT t.conversation_id, count(DISTINCT t.id) AS messages,
           coalesce(sum(u.cost_usd), 0) AS cost_usd,
           count(u.id) FILTER (WHERE u.cost_usd IS NULL) AS unpriced
    FROM agents_run t JOIN agents_run r ON r.root_id = t.id
    LEFT JOIN base_usageentry u ON u.run_id = r.id
    WHERE t.conversation_id = ANY(%s) AND t.parent_id IS NULL
    GROUP BY t.conversation_id
"""


def list_private_conversations(
    access: Access, *, cursor: Cursor = None, limit: Limit = 30
) -> PrivateConversationPageOut:
    """Return the private conversations of all members, the most recently used first."""
    people = get_user_model().objects.filter(pk=OuterRef("private_to_id"))
    rows = Conversation.objects.filter(workspace=access.workspace, private_to__isnull=False)
    owned = with_activity(rows).annotate(owner=Subquery(people.values("username")))
    found, following = page(owned, "-active", cursor, limit)
    figures = _figures([row.pk for row in found])
    return PrivateConversationPageOut(
        conversations=[_view(row, figures.get(row.pk, {})) for row in found],
        next_cursor=following,
    )


def _view(row: Any, figures: dict[str, Any]) -> PrivateConversationOut:
    cost, count = cost_of(figures), figures.get("messages", 0)
    return PrivateConversationOut.of(row, messages=count, cost_usd=cost)


def _figures(conversations: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    rows = fetch_named(_FIGURES, [list(conversations)])
    return {row["conversation_id"]: row for row in rows}
