"""Interrupts: what a run waits for that people decide or answer, and their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agents.choices import RunStatus
from agents.errors import CallClosedError
from agents.journal.waits import EXTERNAL
from agents.models import Run, Wait
from agents.querysets import readable
from heartbit_site.base.access import Access
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.rights import forbidden
from heartbit_site.doors.agui.requests import Resume
from heartbit_site.doors.client_tools import call_id_of
from heartbit_site.doors.questions import DECIDE, OUTCOME_FORM, OpenQuestion, open_questions
from heartbit_site.doors.requests import RequestError

#: The run at the top, its position, and the key of the question.
_ID: Final = re.compile(r"([0-9a-f]{32})_([0-9]{1,9})_(.{1,1000})")
_REASONS: Final = {
    "answer": "input_required",
    "decision": "tool_call",
    "outcome": "heartbit:outcome",
}
_CLOSED: Final = "It no longer waits: it was decided elsewhere, or its time has passed."
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


def interrupts_of(access: Access, run_id: UUID, stop: Stop) -> list[dict[str, Any]]:
    """Return what a run asks people as interrupts. Blocks."""
    return [_interrupt(run_id, stop.seq, one) for one in open_questions(access, run_id)]


def _interrupt(run_id: UUID, seq: int, asked: OpenQuestion) -> dict[str, Any]:
    is_own = bool(asked.call_id) and asked.run_id == str(run_id)
    reason = _REASONS[asked.kind]
    if reason == "tool_call" and not is_own:
        reason = "confirmation"  # a sub-agent's call, which the stream does not have
    about: dict[str, Any] = {"run_id": asked.run_id, "agent": asked.agent}
    if asked.tool:
        about |= {"tool": asked.tool, "arguments": asked.arguments}
    found: dict[str, Any] = {
        "id": f"{run_id.hex}_{seq}_{asked.key}",
        "reason": reason,
        "message": asked.text,
        "responseSchema": asked.form or _APPROVAL,
        "metadata": {"heartbit": about},
    }
    if is_own:
        found["toolCallId"] = call_id_of(run_id, asked.call_id)
    if asked.expires_at is not None:
        found["expiresAt"] = asked.expires_at.isoformat()
    return found


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
    if not access.allows(DECIDE):
        raise forbidden(access, DECIDE)
    found = [(entry, _ID.fullmatch(entry.interrupt_id)) for entry in entries]
    places = [(entry, match) for entry, match in found if match is not None]
    runs = {match[1] for _, match in places}
    run = None
    if len(places) == len(found) and len(runs) == 1:
        rows = Run.objects.filter(readable(access), workspace=access.workspace, pk=UUID(runs.pop()))
        run = rows.filter(parent__isnull=True).first()
    if run is None:
        raise RequestError("The answers are not those to interrupts of one run.", "resume")
    refused: dict[str, str] = {}
    with transaction.atomic():
        asked = {one.key: one for one in open_questions(access, run.pk)}
        for entry, match in places:
            try:
                if match[3] in asked:
                    _answer(access, asked[match[3]], entry)
                else:
                    refused[entry.interrupt_id] = _CLOSED
            except CallClosedError as error:
                refused[entry.interrupt_id] = str(error)
    return AnsweredRun(run, min(int(match[2]) for _, match in places), refused)


def _answer(access: Access, asked: OpenQuestion, entry: Resume) -> None:
    if entry.status != "resolved":
        asked.decline(access)
    elif asked.kind == "answer":
        asked.answer(access, entry.payload)
    elif asked.kind == "outcome":
        asked.resolve(access, **_fitting(entry, OUTCOME_FORM))
    else:
        given = _fitting(entry, _APPROVAL)
        if not given["approved"]:
            asked.decline(access, given.get("reason", ""))
        elif "editedArgs" in given:
            asked.decide(access, verdict="edit", arguments=given["editedArgs"])
        else:
            asked.decide(access, verdict="approve")


def _fitting(entry: Resume, schema: dict[str, Any]) -> dict[str, Any]:
    problems = validate(schema, entry.payload)
    if problems:
        raise RequestError(f"The answer does not fit: {'; '.join(problems)}.", "resume")
    found: dict[str, Any] = entry.payload
    return found
