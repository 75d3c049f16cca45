"""Common parts of all pages: access to the workspace, and the frame around the content.

A page is a thin shell: its scripts request the content from the API, with the user's session. So a
page can never show more than the API gives.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import Http404
from django.shortcuts import render
from django.urls import reverse

from heartbit_site.base.access import (
    NoWorkspaceError,
    access_of_user,
    enters_admin,
    workspaces_of,
)
from heartbit_site.base.refusals import describe_refusal, people_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    from heartbit_site.base.access import Access


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the navigation; ``needs`` is the scope without which it is not shown."""

    name: str
    title: str
    icon: str
    needs: str


PLACES = (
    Place("runs", "Runs", "play_circle", "runs:read"),
    Place("approvals", "Approvals", "back_hand", "runs:read"),
    Place("chat", "Chat", "forum", "runs:read"),
    Place("usage", "Usage", "data_usage", "runs:read"),
    Place("fleet", "Fleet", "memory", "fleet:manage"),
)


#: What the pages offer to some roles alone; whoever has another reads who can do it.
OFFERED = ("runs:write", "approvals:decide", "agents:write")


def page(needs: str) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Make a view ``(request, access, ...)`` of a page of a workspace, for members with a scope.

    An anonymous user gets the login form; a workspace of others does not exist.
    """

    def wrap(view: Callable[..., Any]) -> Callable[..., HttpResponse]:
        @wraps(view)
        @login_required
        def shown(request: HttpRequest, workspace: str, **places: Any) -> HttpResponse:
            try:
                access = access_of_user(request.user, workspace)
            except NoWorkspaceError as error:
                raise Http404(str(error)) from error
            if not access.allows(needs):
                problem = describe_refusal(access, needs)
                return show(request, access, "web/refused.html", {"problem": problem}, status=403)
            response: HttpResponse = view(request, access, **places)
            return response

        return shown

    return wrap


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
        request: Request of the page.
        access: Access of the user.
        template: A template that extends ``web/base.html``.
        context: Context of the template beside the frame's.
        here: The page's place in the navigation.
        status: Status of the response.
    """
    slug = access.workspace.slug
    frame = {
        "access": access,
        "workspace": access.workspace,
        "workspaces": workspaces_of(request.user),
        "scopes": " ".join(sorted(access.scopes)),
        "others": json.dumps(_others(access)),
        "enters_admin": enters_admin(request.user),
        "edits": access.allows("agents:write"),
        "here": here,
        "places": [
            (place, reverse(f"web:{place.name}", args=[slug]))
            for place in PLACES
            if access.allows(place.needs)
        ],
    }
    return render(request, template, frame | (context or {}), status=status)


def _others(access: Access) -> dict[str, str]:
    """Return, for each offered scope that the member lacks, the people who have it."""
    missing = [scope for scope in OFFERED if not access.allows(scope)]
    return people_with(access.workspace, missing) if missing else {}
