"""Waits of runs that a person answers, of any kind that declares an answer."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from agents.actions import waits as action
from agents.journal import waits
from agents.models import ToolCall, Wait
from agents.querysets import find_run, waits_for_answers
from agents.reads.questions import WaitQuestion, questions_of
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.preview import preview
from heartbit_site.contract.approvals import OfRun
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.waits import AnsweredWaitOut, AnswerIn, WaitOut, WaitsOut
from heartbit_site.operations.approvals import decider, of_run
from heartbit_site.operations.paging import find_row, page


class WaitNotFoundError(NotFoundError):
    """The run has no such wait."""


def list_waits(
    access: Access, *, run: OfRun = None, cursor: Cursor = None, limit: Limit = USUAL
) -> WaitsOut:
    """Return the waits for a person's answer, except tool calls to approve or resolve."""
    rows = waits_for_answers(access.workspace).filter(of_run(access, run))
    found, following = page(rows, "pk", cursor, limit)
    calls = _calls(found)
    asked = questions_of(found)
    views = [_view(wait, calls, asked[wait.pk]) for wait in found]
    return WaitsOut(waits=views, next_cursor=following)


def answer_wait(access: Access, run_id: Word, key: Word, body: AnswerIn) -> AnsweredWaitOut:
    """Answer a wait; 409 if it no longer waits."""
    run = find_run(access, run_id, asking=True)
    rows = Wait.objects.filter(run=run, kind__in=waits.answered_by(waits.ANSWER))
    missing = WaitNotFoundError(
        f"Run {run.pk} has no wait {key[:80]!r} to answer.",
        remedy=Remedy("waits.list_waits", "lists the open waits"),
    )
    wait = find_row(rows.select_related("run__workspace").filter(key=key), missing)
    by = decider(access)
    action.answer_wait(wait, body.answer, by=by)
    return AnsweredWaitOut.of(wait, answered_by=by.name)


def _calls(found: list[Wait]) -> Mapping[tuple[UUID, str], ToolCall]:
    rows = ToolCall.objects.filter(run__in={wait.run_id for wait in found})
    return {(row.run_id, row.call_id): row for row in rows}


def _view(wait: Wait, calls: Mapping[tuple[UUID, str], ToolCall], asked: WaitQuestion) -> WaitOut:
    kind, call = waits.kind_of(wait.kind), calls.get((wait.run_id, wait.call_id))
    return WaitOut.of(
        wait,
        label=kind.label,
        waits_for=kind.waits_for,
        command=kind.command,
        tool=call.tool if call is not None else "",
        arguments=preview(call.arguments) if call is not None else "",
        task=preview(wait.run.task),
        question=asked.text,
        result_html=asked.result_html,
        group=asked.group,
        person=asked.person,
        scope=asked.scope,
        answer_schema=asked.form,
        is_declinable=kind.is_declinable,
    )
