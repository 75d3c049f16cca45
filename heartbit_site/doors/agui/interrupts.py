"""Interrupts: what a run waits for that people decide or answer, and their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agents.actions.decide_call import decide_call
from agents.actions.waits import answer_wait, resolve_call
from agents.approvals.questions import answer_schema
from agents.choices import RunStatus, Verdict
from agents.errors import CallClosedError
from agents.journal.waits import ANSWER, APPROVAL, EXTERNAL, OUTCOME, answered_by, kind_of
from agents.models import Run, ToolCall, Wait
from agents.querysets import shown_tool
from agents.reads.tools import in_tool_order, question_of
from heartbit_site.base.access import Access
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.rights import forbidden
from heartbit_site.doors.agui.requests import Resume
from heartbit_site.doors.client_tools import call_id_of
from heartbit_site.doors.requests import RequestError
from heartbit_site.operations.approvals import RESOLUTIONS, decider

_DECIDE: Final = "approvals:decide"
#: The run at the top, its position, the wait, and the digest of what was shown.
_ID: Final = re.compile(r"([0-9a-f]{32})_([0-9]{1,9})_([0-9]{1,18})_([0-9a-f]{0,128})")
#: Answer to an approval, as the protocol recommends it.
_APPROVAL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "description": "All arguments, in place of the call's."},
        "reason": {"type": "string", "description": "Reason of a refusal, for the agent."},
    },
    "required": ["approved"],
}
#: Answer to a call of unknown outcome.
_OUTCOME: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"outcome": {"enum": [*RESOLUTIONS]}, "result": {"type": "string"}},
    "required": ["outcome"],
}
_UNANSWERED: Final = "The person gave no answer."


@dataclass(frozen=True, slots=True)
class Stop:
    """Waits of a run tree for people, or for its client.

    Attributes:
        waits: The waits.
        is_still: True if nothing else in the tree runs meanwhile.
        seq: Sequence number of the last event of the run at the top.
    """

    waits: Sequence[Wait]
    is_still: bool
    seq: int


def read_stop(run_id: UUID) -> Stop | None:
    """Return the waits of a tree for people or its client; None: there are none. Blocks."""
    asked = Q(asks_person=True) | Q(kind=EXTERNAL.name)
    rows = Wait.objects.filter(asked, run__root=run_id, resolved_at=None, run__finished_at=None)
    waits = list(rows.select_related("run__workspace").order_by("pk"))
    if not waits:
        return None
    runs = dict(Run.objects.filter(root=run_id).values_list("pk", "status"))
    active = {RunStatus.QUEUED.value, RunStatus.RUNNING.value} & set(runs.values())
    seq = Run.objects.values_list("last_seq", flat=True).get(pk=run_id)
    return Stop(waits, not active, seq)


def interrupts_of(run_id: UUID, stop: Stop) -> list[dict[str, Any]]:
    """Return the waits for people as interrupts. Blocks."""
    waits = [wait for wait in stop.waits if wait.kind != EXTERNAL.name]
    rows = ToolCall.objects.filter(run__in={wait.run_id for wait in waits})
    calls = {(row.run_id, row.call_id): row for row in rows.select_related("run__version__agent")}
    return [
        _interrupt(run_id, stop.seq, wait, calls.get((wait.run_id, wait.call_id))) for wait in waits
    ]


def _interrupt(run_id: UUID, seq: int, wait: Wait, call: ToolCall | None) -> dict[str, Any]:
    digest = call.digest if call is not None and wait.kind == APPROVAL.name else ""
    found: dict[str, Any] = {
        "id": f"{run_id.hex}_{seq}_{wait.pk}_{digest or ''}",
        **_asked(wait, call),
        "metadata": {"heartbit": {"run_id": str(wait.run_id), "agent": wait.run.agent}},
    }
    if call is not None and wait.run_id == run_id:
        found["toolCallId"] = call_id_of(run_id, call.call_id)
    elif found["reason"] == "tool_call":
        found["reason"] = "confirmation"  # a sub-agent's call, which the stream does not have
    if call is not None and wait.kind == APPROVAL.name:
        shown = (call.approval_view or {}).get("arguments", {})
        more = {"tool": shown_tool(call), "arguments": in_tool_order(call, shown)}
        found["metadata"]["heartbit"] |= more
    if wait.expires_at is not None:
        found["expiresAt"] = wait.expires_at.isoformat()
    return found


def _asked(wait: Wait, call: ToolCall | None) -> dict[str, Any]:
    """Return the reason, the message and the schema of an interrupt."""
    agent = wait.run.agent
    if wait.kind == APPROVAL.name and call is not None:
        shown, form = call.approval_view or {}, answer_schema(call)
        if form is not None:
            question = str(shown.get("arguments", {}).get("question", ""))
            return {"reason": "input_required", "message": question, "responseSchema": form}
        text = str(shown.get("reason") or f"{agent} asks before it uses {shown_tool(call)}.")
        return {"reason": "tool_call", "message": text, "responseSchema": _APPROVAL}
    if wait.kind == OUTCOME.name and call is not None:
        text = f"The outcome of {call.tool} is unknown."
        return {"reason": "heartbit:outcome", "message": text, "responseSchema": _OUTCOME}
    if wait.kind in answered_by(ANSWER):
        asked = question_of(wait)
        text = asked.text or f"{agent} waits for {kind_of(wait.kind).waits_for}."
        return {"reason": "input_required", "message": text, "responseSchema": asked.form}
    return {"reason": f"heartbit:{wait.kind}", "message": f"{agent} waits for a person."}


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """A run whose interrupts were answered.

    Attributes:
        after: Sequence number of the last event before the answers.
        refused: Sentences on answers that were not taken, by the ids of their interrupts: others
            have decided meanwhile, or a time has passed.
    """

    run: Run
    after: int
    refused: dict[str, str]


def answer_interrupts(access: Access, entries: Iterable[Resume]) -> AnsweredRun:
    """Give a run the answers to its interrupts, all or none; those it has are left out.

    Raises:
        RequestError: There is no such interrupt, or an answer does not fit.
        InvalidEditError: As for ``RequestError``, for what a tool or a question declares.
        ForbiddenError: The caller may not decide calls.
    """
    if not access.allows(_DECIDE):
        raise forbidden(access, _DECIDE)
    found = [(entry, _ID.fullmatch(entry.interrupt_id)) for entry in entries]
    places = [(entry, match) for entry, match in found if match is not None]
    runs = {match[1] for _, match in places}
    run = None
    if len(places) == len(found) and len(runs) == 1:
        rows = Run.objects.filter(workspace=access.workspace, pk=UUID(runs.pop()))
        run = rows.filter(parent__isnull=True).first()
    if run is None:
        raise RequestError("The answers are not those to interrupts of one run.", "resume")
    refused: dict[str, str] = {}
    with transaction.atomic():
        for entry, match in places:
            waits = Wait.objects.filter(pk=int(match[3]), run__root=run)
            wait = waits.select_related("run__workspace").first()
            if wait is None:
                raise RequestError(f"There is no interrupt {entry.interrupt_id!r}.", "resume")
            try:
                _answer(access, wait, match[4], entry)
            except CallClosedError as error:
                refused[entry.interrupt_id] = str(error)
    return AnsweredRun(run, min(int(match[2]) for _, match in places), refused)


def _answer(access: Access, wait: Wait, digest: str, entry: Resume) -> None:
    by, is_given = decider(access), entry.status == "resolved"
    if wait.kind not in (APPROVAL.name, OUTCOME.name):
        answer_wait(wait, entry.payload if is_given else None, by=by)
        return
    rows = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    call = rows.get(run=wait.run_id, call_id=wait.call_id)
    if wait.kind == OUTCOME.name:
        given = _fitting(entry, _OUTCOME) if is_given else {"outcome": "skip"}
        result = given.get("result", "")
        resolve_call(call, RESOLUTIONS[given["outcome"]], by=by, result=result)
    elif not is_given:
        decide_call(call, Verdict.DENIED, digest=digest, by=by, reason=_UNANSWERED)
    elif answer_schema(call) is not None:
        decide_call(call, Verdict.ANSWERED, digest=digest, by=by, answer=entry.payload)
    else:
        given = _fitting(entry, _APPROVAL)
        if not given["approved"]:
            reason = given.get("reason", "")
            decide_call(call, Verdict.DENIED, digest=digest, by=by, reason=reason)
        elif "editedArgs" in given:
            arguments = json.dumps(given["editedArgs"])
            decide_call(call, Verdict.EDITED, digest=digest, by=by, arguments=arguments)
        else:
            decide_call(call, Verdict.APPROVED, digest=digest, by=by)


def _fitting(entry: Resume, schema: dict[str, Any]) -> dict[str, Any]:
    problems = validate(schema, entry.payload)
    if problems:
        raise RequestError(f"The answer does not fit: {'; '.join(problems)}.", "resume")
    found: dict[str, Any] = entry.payload
    return found
