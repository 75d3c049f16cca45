"""Tool calls of runs, with their outcomes and people's decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from agents.journal.memory_texts import MemoryTexts
from agents.journal.waits import decision
from agents.models import Decision, Run, ToolCall
from agents.querysets import find_run, shown_tool
from agents.reads.hidden_memories import texts_of_run
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.preview import preview
from heartbit_site.contract.calls import CallDecisionOut, CallOut, CallsOut, CallSummaryOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, page, with_beginning

#: Long columns of a call's run, which no call shows.
_OF_RUN = ("run__task", "run__payload", "run__output", "run__structured")


class CallNotFoundError(NotFoundError):
    """The run has no such tool call."""


def list_calls(
    access: Access, run_id: Word, *, cursor: Cursor = None, limit: Limit = USUAL
) -> CallsOut:
    """Return the calls of a run, the oldest first; those of a root run include its sub-agents'."""
    run = find_run(access, run_id)
    rows: QuerySet[Any] = (
        ToolCall.objects.filter(run__root_id=run.pk)
        if run.parent_id is None
        else ToolCall.objects.filter(run=run)
    )
    rows = with_beginning(with_beginning(rows, "arguments"), "result")
    found, following = page(rows.select_related("run").defer(*_OF_RUN), "pk", cursor, limit)
    decisions = _decisions(found)
    texts = texts_of_run(access, run)
    shown = [_summary(call, decisions, texts) for call in found]
    return CallsOut(calls=shown, next_cursor=following)


def show_call(access: Access, run_id: Word, call_id: Word) -> CallOut:
    """Return a call with its whole arguments and result."""
    call = find_call(access, run_id, call_id)
    decided = _decisions([call])[call.run_id, call.call_id]
    texts = texts_of_run(access, call.run)
    given, result, decided = _shown(call, call.arguments, call.result, decided, texts)
    return CallOut.of(
        call, tool=shown_tool(call), arguments=given, result=result, decisions=decided
    )


def find_call(access: Access, run_id: str, call_id: str) -> ToolCall:
    """Return a call of a run that the caller may read.

    Raises:
        RunNotFoundError: The caller may read no such run.
        CallNotFoundError: The run has no such call.
    """
    return _find_call(find_run(access, run_id), call_id)


def find_asked_call(access: Access, run_id: str, call_id: str) -> ToolCall:
    """Return a call for a caller who may decide it: of a private run one that has waited.

    Raises:
        RunNotFoundError: There is no such run.
        CallNotFoundError: The run has no such call.
    """
    return _find_call(find_run(access, run_id, asking=True, call_id=call_id), call_id)


def _find_call(run: Run, call_id: str) -> ToolCall:
    calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    missing = CallNotFoundError(
        f"Run {run.pk} has no tool call {call_id[:24]}.",
        remedy=Remedy("approvals.list_approvals", "lists the waiting calls"),
    )
    return find_row(calls.filter(run=run, call_id=call_id), missing)


def _decisions(calls: Sequence[ToolCall]) -> Mapping[tuple[UUID, str], list[CallDecisionOut]]:
    found: defaultdict[tuple[UUID, str], list[CallDecisionOut]] = defaultdict(list)
    rows = Decision.objects.filter(
        run__in={call.run_id for call in calls}, call_id__in={call.call_id for call in calls}
    )
    for row in rows.order_by("at", "id"):
        text = decision({"status": row.verdict, "by": row.decided_by})
        decided = CallDecisionOut.of(row, text=text[:1].upper() + text[1:])
        found[row.run_id, row.call_id].append(decided)
    return found


def _shown(
    call: ToolCall,
    arguments: str,
    result: str | None,
    decided: list[CallDecisionOut],
    texts: MemoryTexts | None,
) -> tuple[str, str | None, list[CallDecisionOut]]:
    """Return arguments, result and decisions as the reader may see them."""
    if texts is None:
        return arguments, result, decided
    shown = [
        one
        if one.arguments is None
        else one.model_copy(update={"arguments": texts.arguments(call.tool, one.arguments)})
        for one in decided
    ]
    if result is not None:
        result = texts.result(call.tool, arguments, result)
    return texts.arguments(call.tool, arguments), result, shown


def _summary(
    call: Any,
    decisions: Mapping[tuple[UUID, str], list[CallDecisionOut]],
    texts: MemoryTexts | None,
) -> CallSummaryOut:
    written, result, whole = _shown(
        call,
        call.arguments_beginning,
        call.result_beginning,
        decisions[call.run_id, call.call_id],
        texts,
    )
    arguments = preview(written)
    decided = [
        one.model_copy(
            update={
                "reason": preview(one.reason),
                "arguments": None if one.arguments is None else preview(one.arguments),
            }
        )
        for one in whole
    ]
    shown = None if result is None else preview(result)
    return CallSummaryOut.of(
        call,
        tool=shown_tool(call),
        arguments=arguments,
        result=shown,
        decisions=decided,
        shortened=(arguments, shown, decided) != (written, result, whole),
    )
