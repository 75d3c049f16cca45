"""What all pages have in common: a member of a workspace, and the frame around the content.

A page is a thin shell: what it shows, its scripts ask the API for, with the session of whoever
looks at it. So a page can never show more than the API gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import Http404
from django.shortcuts import render
from django.urls import reverse

from heartbit_site.base.access import NoWorkspaceError, access_of_user, workspaces_of

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
    Place("approvals", "Approvals", "back_hand", "approvals:decide"),
    Place("chat", "Chat", "forum", "runs:write"),
    Place("usage", "Usage", "data_usage", "runs:read"),
    Place("fleet", "Fleet", "memory", "fleet:manage"),
)


class Refused(Exception):
    """The role does not allow the page."""


def page(needs: str) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Make a view ``(request, access, ...)`` of a page of a workspace, for members with a scope.

    Whoever is not logged in is asked to; a workspace of others does not exist.
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
                problem = f"Your role in {access.workspace.name} does not have the scope {needs}."
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
        request: As it came.
        access: Whoever looks.
        template: It extends ``web/base.html``.
        context: What it needs beside the frame's.
        here: The place of the navigation that it belongs to.
        status: Of the response.
    """
    slug = access.workspace.slug
    frame = {
        "access": access,
        "workspace": access.workspace,
        "workspaces": workspaces_of(request.user),
        "scopes": " ".join(sorted(access.scopes)),
        "here": here,
        "places": [
            (place, reverse(f"web:{place.name}", args=[slug]))
            for place in PLACES
            if access.allows(place.needs)
        ],
    }
    return render(request, template, frame | (context or {}), status=status)
