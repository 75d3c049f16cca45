"""A link from a mail: one call as it is shown, and a form. Looking at it decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.actions.decide_call import Decider, approve_call, deny_call
from agents.approval_links import open_link
from agents.errors import NoLongerOpenError
from agents.querysets import calls_waiting
from heartbit_site.api.asked_view import view

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from agents.approval_links import Opened

_PAGE = "web/approve_link.html"
_MOST_REASON = 2000


@never_cache
@require_http_methods(["GET", "POST"])
def approve_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the call of a link, or decide it as its person."""
    try:
        opened = open_link(token)
        if request.method == "POST":
            return _page(request, {"done": _decide(request, opened)})
        return _page(request, _shown(opened))
    except NoLongerOpenError as error:
        return _page(request, {"problem": str(error)}, status=409)


def _shown(opened: Opened) -> dict[str, Any]:
    call = opened.call
    if not calls_waiting(call.run.workspace).filter(pk=call.pk, digest=opened.digest).exists():
        raise NoLongerOpenError("The call does not wait for a decision (any more).")
    shown = call.shown or {}
    return {
        "call": call,
        "access": opened.access,
        "view": view(call, shown.get("arguments", {}), shown.get("reason", "")),
    }


def _decide(request: HttpRequest, opened: Opened) -> str:
    access = opened.access
    by = Decider(access.name, "email", access.user_id)
    match request.POST.get("verdict"):
        case "approve":
            approve_call(opened.call, digest=opened.digest, by=by)
            return "Approved."
        case "deny":
            reason = request.POST.get("reason", "")[:_MOST_REASON]
            deny_call(opened.call, digest=opened.digest, by=by, reason=reason)
            return "Denied."
    raise NoLongerOpenError("Nothing was decided: choose Approve or Deny.")


def _page(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    return render(request, _PAGE, context, status=status)
