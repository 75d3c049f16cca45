"""The page of an approval link: one call as shown before, and a form. Viewing decides nothing."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.actions.decide_call import VERDICTS, decide_call
from agents.approvals.call_display import Opened, OpenedReview, display_call, open_link
from agents.approvals.call_summary import summarize_call
from agents.approvals.call_view import PieceOut
from agents.approvals.questions import answer_schema, describe_question_state, load_question_state
from agents.errors import CallClosedError, InvalidEditError
from agents.querysets import calls_waiting
from agents.reads.tools import in_tool_order
from heartbit_site.base.audit import Actor
from heartbit_site.base.untrusted import UntrustedJSONError
from heartbit_site.base.visible_text import visible
from heartbit_site.web.review_link import review_link
from tools.calls.questions import explained, read_answer, without_form

_PAGE = "web/approve_link.html"
_MOST_REASON = 2000
_DECIDED = {"approve": "Approved.", "answer": "Answered.", "deny": "Denied."}
_ASKED = [PieceOut(text="question", escaped=False)]  # the name of a question's text


@never_cache
@require_http_methods(["GET", "POST"])
def approve_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the call of a link, or decide it as the link's person."""
    try:
        opened = open_link(token)
        if isinstance(opened, OpenedReview):
            return review_link(request, opened)
        if request.method == "POST":
            return _decided(request, opened)
        return _page(request, _shown(opened))
    except CallClosedError as error:
        return _page(request, {"problem": str(error)}, status=409)


def _decided(request: HttpRequest, opened: Opened) -> HttpResponse:
    """Decide, and show the result; on an invalid answer show the call and the form again."""
    try:
        return _page(request, {"done": _decide(request, opened)})
    except (InvalidEditError, UntrustedJSONError) as error:
        # Nothing was decided: the call still waits, and the link stays valid.
        written = {name: request.POST.get(name, "") for name in ("answer", "reason")}
        again = {**_shown(opened), **written, "wrong": str(error)}
        return _page(request, again, status=422)


def _shown(opened: Opened) -> dict[str, Any]:
    call = opened.call
    if not calls_waiting(call.run.workspace).filter(pk=call.pk, digest=opened.digest).exists():
        state = load_question_state(call, digest=opened.digest)
        raise CallClosedError(describe_question_state(state))
    shown = call.approval_view or {}
    arguments, form = in_tool_order(call, shown.get("arguments", {})), answer_schema(call)
    seen = display_call(
        call, without_form(arguments) if form else arguments, shown.get("reason", "")
    )
    found: dict[str, Any] = {"call": call, "access": opened.access, "view": seen}
    if form is None:
        return {**found, "summary": summarize_call(call, arguments)}
    texts = [one for one in seen.arguments if one.name == _ASKED]
    rest = [one for one in seen.arguments if one not in texts]
    return {
        **found,
        "view": seen.model_copy(update={"arguments": rest}),
        "is_question": True,
        "texts": texts,
        "form": visible(explained(form)),
    }


def _decide(request: HttpRequest, opened: Opened) -> str:
    call, access = opened.call, opened.access
    verdict = request.POST.get("verdict", "")
    if verdict not in _DECIDED:
        raise CallClosedError("Nothing was decided: choose one of the buttons.")
    answer = None
    if verdict == "answer":
        text = request.POST.get("answer", "").replace("\r\n", "\n").strip()
        answer = read_answer((call.approval_view or {}).get("arguments", {}), text)
    decide_call(
        call,
        VERDICTS[verdict],
        digest=opened.digest,
        by=Actor(access.name, "email", access.user_id),
        answer=answer,
        reason=request.POST.get("reason", "")[:_MOST_REASON],
    )
    return "Declined." if verdict == "deny" and answer_schema(call) else _DECIDED[verdict]


def _page(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    return render(request, _PAGE, context, status=status)
