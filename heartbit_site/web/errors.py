"""Pages of requests that are refused, lead nowhere, or fail (``handler403``, 404 and 500)."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import page_not_found as of_absence
from django.views.defaults import server_error as of_defect

from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.workspace_scoped import WorkspaceScopedAdmin
from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.database_faults import database_fault
from heartbit_site.base.errors import HeartbitError, NotFoundError
from heartbit_site.base.rights import RefusedError, describe_closed_page
from heartbit_site.shell.frame import PageFrame
from heartbit_site.web.page import show


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a ``PermissionDenied`` of any view."""
    return render(request, "web/closed.html", {"problem": _why(request, exception)}, status=403)


def _why(request: HttpRequest, exception: Exception) -> str:
    if isinstance(exception, RefusedError):
        return str(exception)
    if not request.user.is_authenticated:
        return "Log in first."
    match = request.resolver_match
    page = getattr(match.func, "model_admin", None) if match is not None else None
    needed = page.scope_of("view") if isinstance(page, WorkspaceScopedAdmin) else None
    is_missing = needed is not None and not permissions_for(request).allows(needed)
    return describe_closed_page(request.user, needed if is_missing else None)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an ``Http404`` of any view, and an address without one: in the frame, with ways on.

    What no person reads, as a file of the pages, is answered with a few words.
    """
    said = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    if not request.path.startswith(_PEOPLES) or not hasattr(request, "user"):
        return of_absence(request, exception)
    problem = said or f"There is no page {request.path[:200]}."
    access = _access(request)
    if access is None:
        return render(request, "web/astray_alone.html", {"problem": problem}, status=404)
    return show(request, access, "web/astray.html", {"problem": problem}, status=404)


def _access(request: HttpRequest) -> Access | None:
    """Return the access to the address's workspace, else to the one that a person was in last."""
    slug = request.resolver_match.kwargs.get("workspace", "") if request.resolver_match else ""
    if request.user.is_authenticated and slug:
        with suppress(NotFoundError):
            return access_of_user(request.user, slug)
    return PageFrame(request).access


#: Where pages for people are.
_PEOPLES: Final = ("/w/", "/admin/", "/approve/", "/login", "/logout", "/password")
_PAGE: Final = (
    "<!doctype html><html lang='en'><head><title>503</title></head><body><p>{sentence}</p></body>"
    "</html>"
)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a request whose view, or whose middleware, raised an error.

    A refusal of Heartbit's own is a page with its sentence: a trigger whose run cannot be started
    raises it where a row is saved, in an admin class that knows of no triggers. The others render
    no template, since the layout of the pages reads the database.
    """
    error = sys.exception()
    if isinstance(error, HeartbitError) and request.path.startswith(_PEOPLES):
        return render(request, "web/not_done.html", {"problem": str(error)}, status=409)
    fault = database_fault(error) if error is not None else None
    if fault is None:
        return of_defect(request)
    sentence = "The database is unavailable: try again in a moment."
    if fault.is_disk_full:
        sentence = (
            "The database's disk is full: nothing can be stored until an operator frees space."
        )
    response = HttpResponse(_PAGE.format(sentence=sentence), status=503)
    response["Retry-After"] = "30" if fault.is_disk_full else "2"
    return response
