"""The calls that wait for a person, read from the database, and what became of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from django.db.models import OuterRef, Q, Subquery

from agents.argument_order import in_tool_order
from agents.choices import WaitKind
from agents.doubts import doubts, unasked
from agents.models import Decision, Run, Wait
from agents.querysets import approval_of, calls_waiting, shown_tool
from agents.questions import asked_form
from heartbit_site.cli.escape import visible
from heartbit_site.cli.kinds import APPROVAL, DOUBT, OUTCOME, QUESTION
from heartbit_site.cli.question import WaitingCall

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from agents.doubts import Doubt
    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace
    from heartbit_site.cli.kinds import Kind

PREFIXES: Final = (13, 18)  # characters of an id that people are told, if they name one run
PLACES: Final[Mapping[str, str]] = {
    "terminal": "in another terminal",
    "inline": "in another terminal",
    "api": "through the API",
    "admin": "in the admin",
    "grant": "with a standing permission",
}


def waiting_calls(
    workspace: Workspace, run: Run | None = None, kind: Kind = APPROVAL
) -> list[WaitingCall]:
    """What waits, the oldest first; of a run: its own calls and its sub-agents'."""
    if kind is OUTCOME:
        return [_doubt(found) for found in doubts(workspace, run)]
    found = calls_waiting(workspace)
    if run is not None:
        found = found.filter(Q(run=run) | Q(run__root=run))
    since = Wait.objects.filter(
        run=OuterRef("run"), call_id=OuterRef("call_id"), kind=WaitKind.APPROVAL
    ).order_by("-id")
    rows = found.annotate(since=Subquery(since.values("created_at")[:1]))
    return [_call(row, row.since) for row in rows]


def unasked_calls(workspace: Workspace, run: Run | None = None) -> list[WaitingCall]:
    """The calls in doubt of local runs whose process died, before anybody is asked about them."""
    return [_doubt(found) for found in unasked(workspace, run)]


def _call(row: ToolCall, since: datetime | None) -> WaitingCall:
    shown: dict[str, Any] = row.shown or {}
    form = asked_form(row)
    return WaitingCall(
        id=row.pk,
        run_id=row.run_id,
        root_id=row.run.root_id,
        call_id=row.call_id,
        agent=row.run.agent,
        tool=shown_tool(row),
        effect=row.effect,
        reason=str(shown.get("reason", "")),
        arguments=in_tool_order(shown_tool(row), shown.get("arguments", {})),
        digest=row.digest,
        since=since,
        home=row.run.home,
        queue=row.run.queue,
        kind=APPROVAL if form is None else QUESTION,
        key=approval_of(row),
        form=form,
    )


def _doubt(found: Doubt) -> WaitingCall:
    return replace(
        _call(found.call, found.since),
        arguments=found.arguments,
        reason=DOUBT,
        digest="",
        kind=OUTCOME,
        key=found.question,
        form=None,
    )


def short_id(run_id: UUID) -> str:
    """The beginning of a run's id that names it alone."""
    text = str(run_id)
    for length in PREFIXES:
        digits = text[:length].replace("-", "")
        first, last = digits.ljust(32, "0"), digits.ljust(32, "f")
        if Run.objects.filter(pk__range=(first, last)).count() == 1:
            return text[:length]
    return text


def closed(call: WaitingCall) -> str | None:
    """Why a call waits no longer, as a sentence; None while it waits."""
    decision = Decision.objects.filter(run_id=call.run_id, wait_key=call.question).first()
    if decision is not None:
        place = PLACES.get(decision.via, "elsewhere")
        by = visible(decision.decided_by) or "somebody"
        return f"The call was {decision.verdict} by {by} {place}."
    run = Run.objects.only("status", "finished_at").get(pk=call.run_id)
    if run.finished_at is not None:
        past = f"was {run.status}" if run.status in ("cancelled", "quarantined") else run.status
        return f"The call waits no longer: its run {past}."
    return None
