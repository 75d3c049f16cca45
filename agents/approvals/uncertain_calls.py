"""Uncertain calls, with everything that a person needs to resolve them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from agents.choices import ALLOWING_VERDICTS, CallStatus, Placement, RunStatus, UncertainCalls
from agents.journal.waits import OUTCOME
from agents.models import Decision, Run, ToolCall, Wait
from agents.querysets import uncertain_calls
from agents.runtime.execution.executor import executor_of
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect


@dataclass(frozen=True, slots=True)
class UncertainCall:
    """An uncertain call.

    Attributes:
        question: Key of its wait; another one when the call becomes uncertain again. Empty: no
            person is asked yet.
        since: Time since which it waits.
        arguments: Arguments that it was called with.
    """

    call: ToolCall
    question: str
    since: datetime
    arguments: dict[str, Any]


def unasked(workspace: Workspace, run: Run | None = None) -> list[UncertainCall]:
    """Return calls of local runs whose process crashed during the call, oldest first.

    No person is asked about these calls until the run is resumed: they have no question, and count
    as waiting since they started.
    """
    rows = (
        ToolCall.objects.filter(
            Q() if run is None else Q(run=run) | Q(run__root=run),
            run__workspace=workspace,
            run__home=Placement.LOCAL,
            run__status__in=[RunStatus.RUNNING, RunStatus.QUEUED],
            status=CallStatus.STARTED,
            effect=Effect.AT_MOST_ONCE,
        )
        .annotate(edited=written_arguments())
        .select_related("run", "run__version__agent")
        .order_by("id")
    )
    found = [row for row in rows if _asks(row.run.version.snapshot)]
    dead = {root for root in {row.run.root_id for row in found} if executor_of(root) is None}
    return [
        UncertainCall(row, "", row.started_at, executed_arguments(row, row.edited))
        for row in found
        if row.run.root_id in dead and row.started_at is not None
    ]


def _asks(snapshot: dict[str, Any]) -> bool:
    return bool(
        snapshot.get("uncertain_calls", UncertainCalls.ASK_HUMAN) == UncertainCalls.ASK_HUMAN
    )


def asked_about(workspace: Workspace) -> QuerySet[Any]:
    """Query the uncertain calls, with the columns for ``to_uncertain_call``."""
    asked = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        kind=OUTCOME.name,
        resolved_at__isnull=True,
    )
    return uncertain_calls(workspace).annotate(
        question=Subquery(asked.values("key")[:1]),
        asked_at=Subquery(asked.values("created_at")[:1]),
        edited=written_arguments(),
    )


def to_uncertain_call(row: Any) -> UncertainCall:
    """Convert a row of ``asked_about``."""
    return UncertainCall(row, row.question, row.asked_at, executed_arguments(row, row.edited))


def written_arguments() -> Subquery:
    """Select the arguments that a person wrote for a tool call, as JSON, or null."""
    allowed = Decision.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        verdict__in=ALLOWING_VERDICTS,
    ).order_by("-id")  # an earlier one may have lapsed
    return Subquery(allowed.values("arguments")[:1])


def executed_arguments(call: ToolCall, edited: str | None) -> dict[str, Any]:
    """Return the arguments that a call ran with: as a person approved them, else the model's."""
    if edited is None and call.approval_view is not None:
        shown: dict[str, Any] = call.approval_view.get("arguments", {})
        return shown
    read = json.loads(edited or call.arguments or "{}")
    return read if isinstance(read, dict) else {"": read}
