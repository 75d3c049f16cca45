"""A link from a mail: one call as it is shown, and a form. Looking at it decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.actions.decide_call import Decider, answer_call, approve_call, deny_call
from agents.approval_links import open_link
from agents.errors import InvalidEditError, NoLongerOpenError
from agents.querysets import calls_waiting
from agents.questions import asked_form
from heartbit_site.api.asked_view import view
from heartbit_site.base.untrusted import UntrustedJSONError
from heartbit_site.base.visible_text import visible
from tools.form_words import explained, without_form
from tools.questions import read_answer

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from agents.approval_links import Opened

_PAGE = "web/approve_link.html"
_MOST_REASON = 2000
_ASKED = [{"text": "question", "escaped": False}]  # the name of a question's text


@never_cache
@require_http_methods(["GET", "POST"])
def approve_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the call of a link, or decide it as its person."""
    try:
        opened = open_link(token)
        if request.method == "POST":
            return _decided(request, opened)
        return _page(request, _shown(opened))
    except NoLongerOpenError as error:
        return _page(request, {"problem": str(error)}, status=409)


def _decided(request: HttpRequest, opened: Opened) -> HttpResponse:
    """What was done, or the call again with what was written and one sentence on it."""
    try:
        return _page(request, {"done": _decide(request, opened)})
    except (InvalidEditError, UntrustedJSONError) as error:
        # Nothing was decided: the call waits, and the link goes on opening it.
        written = {name: request.POST.get(name, "") for name in ("answer", "reason")}
        again = {**_shown(opened), **written, "wrong": str(error)}
        return _page(request, again, status=422)


def _shown(opened: Opened) -> dict[str, Any]:
    call = opened.call
    if not calls_waiting(call.run.workspace).filter(pk=call.pk, digest=opened.digest).exists():
        raise NoLongerOpenError("The call does not wait for a decision (any more).")
    shown = call.shown or {}
    arguments, form = shown.get("arguments", {}), asked_form(call)
    seen = view(call, without_form(arguments) if form else arguments, shown.get("reason", ""))
    found: dict[str, Any] = {"call": call, "access": opened.access, "view": seen}
    if form is None:
        return found
    texts = [one for one in seen["arguments"] if one["name"] == _ASKED]
    seen["arguments"] = [one for one in seen["arguments"] if one not in texts]
    return {**found, "is_question": True, "texts": texts, "form": visible(explained(form))}


def _decide(request: HttpRequest, opened: Opened) -> str:
    access = opened.access
    by = Decider(access.name, "email", access.user_id)
    match request.POST.get("verdict"):
        case "approve":
            approve_call(opened.call, digest=opened.digest, by=by)
            return "Approved."
        case "answer":
            text = request.POST.get("answer", "").replace("\r\n", "\n").strip()
            answer = read_answer((opened.call.shown or {}).get("arguments", {}), text)
            answer_call(opened.call, digest=opened.digest, by=by, answer=answer)
            return "Answered."
        case "deny":
            reason = request.POST.get("reason", "")[:_MOST_REASON]
            deny_call(opened.call, digest=opened.digest, by=by, reason=reason)
            return "Declined." if asked_form(opened.call) else "Denied."
    raise NoLongerOpenError("Nothing was decided: choose one of the buttons.")


def _page(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    return render(request, _PAGE, context, status=status)
