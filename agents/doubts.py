"""The calls of unknown outcome, with all that a person needs to say what became of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import OuterRef, Q, Subquery

from agents.choices import ALLOWING, WaitKind
from agents.models import Decision, Wait
from agents.querysets import calls_in_doubt

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from agents.models import Run, ToolCall
    from heartbit_site.base.models import Workspace


@dataclass(frozen=True, slots=True)
class Doubt:
    """A call in doubt.

    Attributes:
        question: The key of its wait; another one when the call is asked about again.
        since: When it began to wait.
        arguments: What it was made with.
    """

    call: ToolCall
    question: str
    since: datetime
    arguments: dict[str, Any]


def doubts(workspace: Workspace, run: Run | None = None) -> list[Doubt]:
    """The calls in doubt, the oldest first.

    Args:
        workspace: Where.
        run: Only its own calls and its sub-agents'.
    """
    rows = asked_about(workspace).filter(Q() if run is None else Q(run=run) | Q(run__root=run))
    return [doubt_of(row) for row in rows]


def asked_about(workspace: Workspace) -> QuerySet[Any]:
    """The calls in doubt with what ``doubt_of`` reads of them."""
    asked = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        kind=WaitKind.OUTCOME,
        resolved_at__isnull=True,
    )
    return calls_in_doubt(workspace).annotate(
        question=Subquery(asked.values("key")[:1]),
        asked_at=Subquery(asked.values("created_at")[:1]),
        edited=written_arguments(),
    )


def doubt_of(row: Any) -> Doubt:
    """One of ``asked_about``."""
    return Doubt(row, row.question, row.asked_at, made_with(row, row.edited))


def written_arguments() -> Subquery:
    """Of a tool call: what a person wrote instead of the model, as JSON, or null."""
    allowed = Decision.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        verdict__in=ALLOWING,
    ).order_by("-id")  # an earlier one may have lapsed
    return Subquery(allowed.values("arguments")[:1])


def made_with(call: ToolCall, edited: str | None) -> dict[str, Any]:
    """What a call that has run was given: as a person approved it, else as the model wrote it."""
    if edited is None and call.shown is not None:
        shown: dict[str, Any] = call.shown.get("arguments", {})
        return shown
    read = json.loads(edited or call.arguments or "{}")
    return read if isinstance(read, dict) else {"": read}
