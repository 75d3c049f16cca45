"""Common parts of all pages: the check of membership and scope, and the frame around the content.

A page is a thin shell: its scripts fetch the content from the API with the viewer's session, so a
page can never show more than the API gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.rights import describe_refusal, people_with
from heartbit_site.base.visible_text import visible
from heartbit_site.shell.frame import remember

#: Scopes of actions that the pages offer to some roles; others read who can do them.
OFFERED = ("runs:write", "approvals:decide", "agents:write")


def page(needs: str) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Turn ``(request, access, ...)`` into a view for members of a workspace who have a scope.

    Redirects to the login without a session; answers 404 for a workspace of which the user is not a
    member, and for a row that the view does not find; 400 for a form that names no action.
    """

    def wrap(view: Callable[..., Any]) -> Callable[..., HttpResponse]:
        @wraps(view)
        @login_required
        def shown(request: HttpRequest, workspace: str, **places: Any) -> HttpResponse:
            try:
                access = access_of_user(request.user, workspace)
                if access.allows(needs):
                    response: HttpResponse = view(request, access, **places)
                    return response
            except NotFoundError as error:
                raise Http404(str(error)) from error
            except BadRequest as error:
                problem = {"problem": str(error)}
                return render(request, "web/not_done.html", problem, status=400)
            refusal = {"problem": describe_refusal(access, needs)}
            return show(request, access, "web/refused.html", refusal, status=403)

        return shown

    return wrap


def asked_action(request: HttpRequest, *known: str) -> str:
    """Return the action that the button of a sent form names.

    Raises:
        BadRequest: The page has no such action; ``page`` answers so.
    """
    asked = request.POST.get("do", "")
    if asked not in known:
        said = f"The form asks for {visible(asked)[:40]!r}" if asked else "The form names no action"
        raise BadRequest(f"{said}: this page knows {', '.join(known)}.")
    return asked


def show(
    request: HttpRequest,
    access: Access,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    here: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render a page in its frame.

    Args:
        request: The request.
        access: The viewer's access.
        template: A template that extends ``web/base.html``.
        context: Additional context.
        here: Name of the page's place (``heartbit_site.shell.places``).
        status: Status of the response.
    """
    remember(request, access.workspace)
    request.heartbit_access, request.heartbit_place = access, here  # type: ignore[attr-defined]
    known = {
        "access": access,
        "workspace": access.workspace,
        "others": json.dumps(_others(access)),
        "edits": access.allows("agents:write"),
    }
    return render(request, template, known | (context or {}), status=status)


def _others(access: Access) -> dict[str, str]:
    """Return the people who have the scopes that the viewer lacks, by scope."""
    missing = [scope for scope in OFFERED if not access.allows(scope)]
    return people_with(access.workspace, missing) if missing else {}
