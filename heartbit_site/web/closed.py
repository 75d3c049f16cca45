"""The page for refusals outside a workspace (``handler403``): the reason, and who can help."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.workspace_scoped import WorkspaceScopedAdmin
from heartbit_site.base.rights import RefusedError, describe_closed_page


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
