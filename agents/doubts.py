"""The calls of unknown outcome, with all that a person needs to say what became of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db.models import OuterRef, Subquery

from agents.choices import Verdict, WaitKind
from agents.models import Decision, Wait
from agents.querysets import calls_in_doubt

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace


def doubts(workspace: Workspace | None = None) -> QuerySet[ToolCall]:
    """The calls in doubt, the oldest first, with ``question``, ``asked_at`` and ``edited``.

    ``question`` is the key of the wait, another one when the call is asked about again.

    Args:
        workspace: Of this one alone; None, for the admin's superusers: of all.
    """
    asked = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        kind=WaitKind.OUTCOME,
        resolved_at__isnull=True,
    )
    return calls_in_doubt(workspace).annotate(
        question=Subquery(asked.values("key")[:1]),
        asked_at=Subquery(asked.values("created_at")[:1]),
        edited=edited_arguments(),
    )


def edited_arguments() -> Subquery:
    """Of a tool call: what a person wrote instead of the model, as JSON, or null."""
    edits = Decision.objects.filter(
        run=OuterRef("run"), call_id=OuterRef("call_id"), verdict=Verdict.EDITED
    )
    return Subquery(edits.values("arguments")[:1])


def made_with(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call of ``doubts``: as approved or edited, else as the model wrote them."""
    edited: str | None = getattr(call, "edited", None)
    if edited is None and call.shown is not None:
        shown: dict[str, Any] = call.shown.get("arguments", {})
        return shown
    read = json.loads(edited or call.arguments or "{}")
    return read if isinstance(read, dict) else {"": read}
