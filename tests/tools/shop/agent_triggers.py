"""Found by Heartbit, as the ``agent_triggers`` of any Django app.

The tests' orders start a run only if their note names a workspace: ``in t-1234``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.definitions.triggers import on_change
from tests.tools.shop.models import Order

if TYPE_CHECKING:
    from agents.definitions.triggers import Change

MARK = "in "


def place(change: Change) -> str:
    """Return the workspace that the row names."""
    return str((change.new or change.old)["note"]).removeprefix(MARK)


def is_marked(change: Change) -> bool:
    return str((change.new or change.old)["note"]).startswith(MARK)


@on_change(
    Order,
    agent="shipper",
    workspace=place,
    fields=("number", "status", "note", "due"),
    when=lambda change: is_marked(change) and change.became("status", "sent"),
)
def ship(change: Change) -> str:
    """Ship what is sent."""
    return f"[[text: Order {change.new['number']} is on its way.]]"


@on_change(
    Order,
    agent="archivist",
    workspace=place,
    when=lambda change: is_marked(change) and not change.new,
    required=False,
)
def archive(change: Change) -> dict[str, Any]:
    """Keep what is deleted."""
    return {"order": change.old["number"]}
