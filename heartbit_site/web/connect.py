"""Pages of signing in to an MCP server: connect, come back, and disconnect."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from heartbit_site.base.access import Access, access_of_user
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.people import User
from heartbit_site.web.page import asked_action, page, show
from tools.actions.credentials import remove_credential
from tools.actions.sign_in import CALLBACK, DOCUMENT, finish_sign_in, start_sign_in, take_sign_in
from tools.models import McpServer
from tools.sign_in.plan import client_metadata
from tools.sign_in.storage import find_sign_in

_MANAGE = "workspace:manage"


@never_cache
@require_http_methods(["GET", "POST"])
@page("runs:write")
def connect(request: HttpRequest, access: Access, server: str) -> HttpResponse:
    """Show who is signed in to a server; begin a sign-in, or remove one."""
    row = (
        McpServer.objects.filter(workspace=access.workspace, name=server, sign_in=True)
        .select_related("workspace")
        .first()
    )
    if row is None or access.user_id is None:
        raise Http404(f"No MCP server {server} with sign-in exists here.")
    is_shared = request.POST.get("for") == "workspace"
    if request.method != "POST" or (is_shared and not access.allows(_MANAGE)):
        return _page(request, access, row)
    if asked_action(request, "connect", "disconnect") == "disconnect":
        known = find_sign_in(row, None if is_shared else access.user_id)
        if known is not None:
            messages.success(request, remove_credential(known, by=actor_of(access)))
        return redirect(request.path)
    try:
        link = _begun(request, row, access.user_id, is_shared=is_shared)
    except HeartbitError as error:
        return _page(request, access, row, problem=str(error), status=409)
    # A link, not a redirect: forms of these pages may not lead elsewhere (Content-Security-Policy).
    return _page(request, access, row, link=link, host=httpx.URL(link).netloc.decode())


@never_cache
@require_GET
def come_back(request: HttpRequest) -> HttpResponse:
    """Accept the response of an authorization server, in the session that started the sign-in."""
    user = request.user
    if not isinstance(user, User) or request.session.session_key is None:
        problem = "You are no longer logged in here: log in, and connect again."
        return render(request, "web/closed.html", {"problem": problem}, status=403)
    answer = {name: str(value) for name, value in request.GET.items()}
    try:
        row, plan = take_sign_in(
            answer.get("state", ""), user_id=user.pk, session=request.session.session_key
        )
    except HeartbitError as error:
        return render(request, "web/closed.html", {"problem": str(error)}, status=409)
    place = redirect("web:connect", workspace=row.workspace.slug, server=row.server.name)
    try:
        access = access_of_user(user, row.workspace.slug)
        if row.is_shared and not access.allows(_MANAGE):
            raise Http404("This sign-in needs the right to manage the workspace.")
        finish_sign_in(row, plan, answer, by=actor_of(access))
    except HeartbitError as error:
        messages.error(request, str(error))
        return place
    messages.success(request, "Connected.")
    return place


@require_GET
def client_document(request: HttpRequest) -> HttpResponse:
    """Serve Heartbit's client metadata document to authorization servers."""
    root = settings.HEARTBIT_PUBLIC_URL
    document = {"client_id": f"{root}{DOCUMENT}", **client_metadata(f"{root}{CALLBACK}")}
    return JsonResponse(document)


def _begun(request: HttpRequest, row: McpServer, user_id: int, *, is_shared: bool) -> str:
    """Begin a sign-in; the browser must return to this host, where its session is."""
    if request.get_host() != urlsplit(settings.HEARTBIT_PUBLIC_URL).netloc:
        raise HeartbitError(f"Open this page at {row.connect_url}, where sign-ins return to.")
    session = request.session.session_key
    if session is None:
        raise HeartbitError("Your browser has no session: log in again.")
    return start_sign_in(row, user_id=user_id, session=session, is_shared=is_shared)


def _page(
    request: HttpRequest, access: Access, row: McpServer, *, status: int = 200, **more: Any
) -> HttpResponse:
    owners: list[tuple[str, str, int | None]] = [("me", "You", access.user_id)]
    if access.allows(_MANAGE):
        owners.append(("workspace", "The workspace", None))
    context = {
        "server": row,
        "owners": [(key, title, find_sign_in(row, owner)) for key, title, owner in owners],
        **more,
    }
    return show(request, access, "web/connect.html", context, status=status)
