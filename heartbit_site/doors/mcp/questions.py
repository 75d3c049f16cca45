"""Questions of a run to people, as forms that an MCP client shows (``elicitation/create``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult

from heartbit_site.base.access import Access
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.rights import forbidden
from heartbit_site.doors.mcp.forms import FormError, flat_form, value_in
from heartbit_site.doors.questions import DECIDE, OpenQuestion, open_questions

_DECISION: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["approve", "deny"]},
        "reason": {"type": "string", "description": "Reason of a denial, which the agent reads."},
    },
    "required": ["decision"],
}


def open_forms(access: Access, run_id: UUID) -> dict[str, ElicitRequest]:
    """Return the questions of a run that the caller can answer, by their keys."""
    return {key: _request(one) for key, one in _open(access, run_id).items()}


def answer_questions(access: Access, run_id: UUID, answers: Mapping[str, ElicitResult]) -> None:
    """Answer questions of a run; those that are not open, and cancelled forms, change nothing.

    Raises:
        ForbiddenError: The caller may not decide.
        HeartbitError: An answer does not fit; those before it stand.
    """
    if not access.allows(DECIDE):
        raise forbidden(access, DECIDE)
    found = _open(access, run_id)
    for key, given in answers.items():
        if key in found and given.action == "accept":
            _accept(access, found[key], given.content or {})
        elif key in found and given.action == "decline":
            found[key].decline(access)


def _open(access: Access, run_id: UUID) -> dict[str, OpenQuestion]:
    return {one.key: one for one in open_questions(access, run_id) if not one.is_answered}


def _request(asked: OpenQuestion) -> ElicitRequest:
    form = ElicitRequestFormParams(message=asked.text, requested_schema=_form(asked))
    return ElicitRequest(params=form)


def _form(asked: OpenQuestion) -> dict[str, Any]:
    return _DECISION if asked.form is None else flat_form(asked.form)


def _accept(access: Access, asked: OpenQuestion, given: Mapping[str, Any]) -> None:
    problems = validate(_form(asked), given)
    if problems:
        raise FormError(f"The answer does not fit: {'; '.join(problems)}.")
    if asked.kind == "outcome":
        asked.resolve(access, **given)
    elif asked.form is not None:
        asked.answer(access, value_in(asked.form, given))
    elif given["decision"] == "approve":
        asked.decide(access, verdict="approve")
    else:
        asked.decline(access, given.get("reason", ""))
