"""The prompts of the admin's pages: calls that began to wait and that their reader may decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest

from agents.admin.formatting import run_url
from agents.approvals.call_display import display_call
from agents.approvals.call_summary import summarize_call
from agents.approvals.call_view import CallDisplayOut
from agents.approvals.questions import answer_schema, executed_arguments, written_arguments
from agents.choices import CallStatus
from agents.models import Decision, ToolCall, Vote, Wait
from agents.querysets import approval_of, calls_waiting, is_asked, shown_tool, uncertain_calls
from agents.reads.tools import in_tool_order
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.base.effect_text import UNCERTAIN_CALL
from heartbit_site.base.visible_text import visible
from heartbit_site.shell.moment import short
from tools.calls.questions import without_form

MOST = 1  # prompts at once: whoever works on the page keeps seeing it, also on a phone
_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class Prompt:
    """A waiting call as a page prompts for it.

    Attributes:
        tool: Name of the tool that would run.
        page: Address of the run's page.
        is_uncertain: True if the call has run and its outcome is unknown.
        summary: Sentence about the call; empty: its tool declares none.
        is_question: True if a person answers the call instead of approving it.
    """

    call: ToolCall
    tool: str
    display: CallDisplayOut
    page: str
    summary: str
    is_uncertain: bool
    is_question: bool

    @property
    def can_decide(self) -> bool:
        """True when approving and denying are possible without writing anything."""
        return not (self.is_uncertain or self.is_question)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Content of a page's prompts.

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
    prompts = [build_prompt(call) for call in found[:MOST]]
    waiting = {call.pk for call in found}
    return Prompts(
        newest=after,
        shown=prompts,
        more=max(0, len(found) - MOST),
        over=_over(request, [pk for pk in shown if pk not in waiting]),
    )


def _waits(request: HttpRequest) -> QuerySet[Any]:
    """Select the calls that this person, among others, may decide, with ``wait``, an id."""
    reached = permissions_for(request).rows(waiting_calls(), "run__workspace", "approvals:decide")
    mine = reached.filter(~Q(status=CallStatus.WAITING) | is_asked(request.user.pk))
    return mine.annotate(wait=Subquery(_open_waits().order_by("-pk").values("pk")[:1]))


def _without_voted(pks: Iterable[int], user: Any) -> list[ToolCall]:
    """Return the calls on which the person has not voted yet, in this order."""
    pks = list(pks)
    rows = waiting_calls().in_bulk(pks)
    found = [rows[pk] for pk in pks if pk in rows]
    votes = Vote.objects.filter(run__in={call.run_id for call in found}, user_id=user.pk)
    said = set(votes.values_list("run_id", "wait_key"))
    return [call for call in found if (call.run_id, approval_of(call)) not in said]


def is_uncertain(call: ToolCall) -> bool:
    """Return True if the outcome of a call of ``waiting_calls`` is unknown."""
    return call.status == CallStatus.UNCERTAIN


def asked_about(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call of ``waiting_calls``."""
    if is_uncertain(call):
        return executed_arguments(call, getattr(call, "edited", None))
    return (call.approval_view or {}).get("arguments") or {}


def build_prompt(call: ToolCall) -> Prompt:
    """Return the prompt for a call of ``waiting_calls``."""
    reason = (
        UNCERTAIN_CALL if is_uncertain(call) else str((call.approval_view or {}).get("reason", ""))
    )
    is_question = not is_uncertain(call) and answer_schema(call) is not None
    arguments = in_tool_order(call, asked_about(call))
    if is_question:
        arguments = without_form(arguments)
    tool = shown_tool(call)  # the heading says who asks for what
    reason = reason.removeprefix(f"{call.run.agent} asks before it uses {tool}.")
    display = display_call(call, arguments, reason)
    return Prompt(
        call=call,
        tool="".join(piece.text for piece in display.tool),
        display=display,
        page=run_url(call.run.workspace, call.run_id),
        summary="" if is_question else summarize_call(call, arguments),
        is_uncertain=is_uncertain(call),
        is_question=is_question,
    )


def _over(request: HttpRequest, pks: Sequence[int]) -> list[tuple[int, str]]:
    """Return how calls that do not wait any more were decided, as far as the person may know."""
    if not pks:
        return []
    rows = ToolCall.objects.filter(pk__in=pks).select_related("run").order_by("pk")
    reached = permissions_for(request).rows(rows, "run__workspace", "approvals:decide")
    return [(call.pk, _what_became_of(call)) for call in reached]


def _what_became_of(call: ToolCall) -> str:
    decisions = Decision.objects.filter(run_id=call.run_id, call_id=call.call_id)
    last = decisions.order_by("-at", "-id").first()
    if last is not None:
        return f"{_describe_decision(last)}."
    return f"The call does not wait for you: its run is {call.run.get_status_display().lower()}."


def _describe_decision(decision: Decision) -> str:
    """Return the decision, who made it, where and when, and by which grant."""
    what = decision.get_verdict_display()
    where = "" if decision.via == "grant" else f" ({decision.via})"
    sentence = f"{what} by {visible(decision.decided_by)}{where}, {short(decision.at)}"
    if decision.grant_id is None:
        return sentence
    if decision.via == "grant":
        return f"{sentence}, by grant {decision.grant_id}"
    return f"{sentence}, and grant {decision.grant_id} given"


def _open_waits() -> QuerySet[Wait]:
    """Select the waits for a person of the outer query's call."""
    return Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        asks_person=True,
        resolved_at__isnull=True,
    )


def waiting_calls() -> QuerySet[ToolCall]:
    """Select the calls of all workspaces that wait for a person, with ``asked_at``, ``edited``.

    They wait for approval, or, as those with the status ``uncertain``, for a word on their outcome.
    """
    # A union, not an "or": each half finds its few rows among all calls by an index.
    found = [calls.order_by().values("pk") for calls in (calls_waiting(), uncertain_calls())]
    waiting = ToolCall.objects.filter(pk__in=found[0].union(found[1])).annotate(
        asked_at=Subquery(_open_waits().values("created_at")[:1]), edited=written_arguments()
    )
    return waiting.select_related("run__workspace", "run__version__agent").order_by("id")
