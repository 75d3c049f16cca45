"""The prompts of the admin's pages: calls that began to wait and that their reader may decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import BooleanField, F, Func, Max, OuterRef, Q, Subquery, Value

from agents.admin import queries
from agents.admin.approval_card import Card, card, decided
from agents.admin.links import run_url
from agents.choices import CallStatus
from agents.models import Decision, Vote, Wait
from agents.querysets import approval_of
from heartbit_site.base.admin.permissions import permissions_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet
    from django.http import HttpRequest

    from agents.models import ToolCall

MOST = 1  # prompts at once: whoever works on the page keeps seeing it, also on a phone
_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class Prompt:
    """A call with what a prompt needs beside its card.

    Attributes:
        page: The page of the call's run.
        can_decide: True when approving and denying are possible without writing anything.
    """

    card: Card
    page: str
    can_decide: bool


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a page shows.

    Attributes:
        newest: The wait up to which nothing is prompted for: the newest one of an opened page.
        more: How many calls have no prompt because others are shown.
        over: What became of calls that the page still shows: id and sentence.
    """

    newest: int
    shown: list[Prompt]
    more: int
    over: list[tuple[int, str]]


def read(
    request: HttpRequest,
    *,
    after: int | None,
    shown: Sequence[int] = (),
    dismissed: Sequence[int] = (),
) -> Prompts:
    """Read the prompts of a page.

    Args:
        request: The reader's.
        after: The wait up to which the page prompts for nothing; None: it was just opened.
        shown: The ids of the calls that the page prompts for now.
        dismissed: The ids of the calls that it is to prompt for no more.
    """
    waits = _waits(request)
    if after is None:
        after = waits.aggregate(newest=Max("wait"))["newest"] or 0
    begun = waits.filter(wait__gt=after).exclude(pk__in=dismissed).order_by("wait")
    found = _without_voted(begun.values_list("pk", flat=True)[:_LOOKED_AT], request.user)
    prompts = [_prompt(call) for call in found[:MOST]]
    waiting = {call.pk for call in found}
    return Prompts(
        newest=after,
        shown=prompts,
        more=max(0, len(found) - MOST),
        over=_over(request, [pk for pk in shown if pk not in waiting]),
    )


def _waits(request: HttpRequest) -> QuerySet[Any]:
    """Select the calls that this person, among others, may decide, with ``wait``, an id."""
    waits = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        asks_person=True,
        resolved_at__isnull=True,
    )
    reached = permissions_for(request).rows(
        queries.waiting_calls(), "run__workspace", "approvals:decide"
    )
    asked = Func(
        F("approval_view"),
        Value(request.user.pk),
        function="heartbit_is_asked",
        output_field=BooleanField(),
    )
    mine = reached.alias(is_asked=asked).filter(~Q(status=CallStatus.WAITING) | Q(is_asked=True))
    return mine.annotate(wait=Subquery(waits.order_by("-pk").values("pk")[:1]))


def _without_voted(pks: Iterable[int], user: Any) -> list[ToolCall]:
    """The calls on which the person has not said their word already, in this order."""
    pks = list(pks)
    rows = queries.waiting_calls().in_bulk(pks)
    found = [rows[pk] for pk in pks if pk in rows]
    votes = Vote.objects.filter(run__in={call.run_id for call in found}, user_id=user.pk)
    said = set(votes.values_list("run_id", "wait_key"))
    return [call for call in found if (call.run_id, approval_of(call)) not in said]


def _prompt(call: ToolCall) -> Prompt:
    shown = card(call)
    return Prompt(
        card=shown,
        page=run_url(call.run.workspace, call.run_id),
        can_decide=not (shown.in_doubt or shown.is_question),
    )


def _over(request: HttpRequest, pks: Sequence[int]) -> list[tuple[int, str]]:
    """What became of calls that do not wait any more, as far as the person may know."""
    if not pks:
        return []
    rows = queries.calls_of(pks)
    reached = permissions_for(request).rows(rows, "run__workspace", "approvals:decide")
    return [(call.pk, _what_became_of(call)) for call in reached]


def _what_became_of(call: ToolCall) -> str:
    decisions = Decision.objects.filter(run_id=call.run_id, call_id=call.call_id)
    last = decisions.order_by("-at", "-id").first()
    if last is not None:
        return f"{decided(last)}."
    return f"The call does not wait for you: its run is {call.run.get_status_display().lower()}."
