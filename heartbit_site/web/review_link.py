"""The page of a link to a review: the result, and a form. Viewing decides nothing."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agents.actions.waits import answer_wait
from agents.approvals.call_display import OpenedReview
from agents.errors import CallClosedError, InvalidEditError
from agents.journal.waits import REVIEW
from agents.output.text import as_text
from agents.reads.questions import question_of
from heartbit_site.base.audit import Actor
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

_DONE: Final = {
    "approve": "Approved.",
    "changes": "Sent to the agent.",
    "edit": "Approved as edited.",
    "reject": "Rejected.",
}


def review_link(request: HttpRequest, opened: OpenedReview) -> HttpResponse:
    """Show the result of a link, or decide about it as the link's person.

    Raises:
        CallClosedError: The result waits for a review no longer, or others review it.
    """
    wait = opened.wait
    asked = question_of(wait)
    if wait.resolved_at is not None:
        value = wait.value or {}
        outcome = REVIEW.describe(value, "").heading if "by" in value else "The run has ended"
        raise CallClosedError(f"{outcome}.")
    shown: dict[str, Any] = {
        "run": wait.run,
        "access": opened.access,
        "html": asked.result_html,
        "result": as_text(asked.form["default"]["result"]),
        "decisions": asked.form["properties"]["decision"]["enum"],
    }
    if request.method != "POST":
        return _page(request, shown)
    sent = {
        name: request.POST.get(name, "").replace("\r\n", "\n") for name in ("message", "result")
    }
    decision = request.POST.get("decision", "")
    answer: dict[str, Any] = {"decision": decision, "message": sent["message"]}
    try:
        if decision == "edit":
            is_text = asked.form["properties"]["result"].get("type") == "string"
            is_text = is_text and isinstance(asked.form["default"]["result"], str)
            text = sent["result"]
            answer["result"] = text if is_text else parse_untrusted_json(text)
        by = Actor(opened.access.name, "email", opened.access.user_id)
        answer_wait(wait, answer, by=by)
    except (InvalidEditError, UntrustedJSONError) as error:
        return _page(request, {**shown, **sent, "wrong": str(error)}, status=422)
    return _page(request, {"done": _DONE[decision]})


def _page(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    return render(request, "web/review_link.html", context, status=status)
