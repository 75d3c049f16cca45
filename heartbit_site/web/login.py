"""Login and logout pages; too many failures lock a client out for a while (django-axes)."""

from __future__ import annotations

from ipaddress import IPv6Network
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from heartbit_site.api.rate_limit import customer
from heartbit_site.base.access import workspaces_of

PAUSE = "Too many failed attempts: wait a quarter of an hour, or ask an administrator."


class Login(LoginView):
    """The login form."""

    template_name = "web/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Add the host of the issuer that people sign in at, if there is one."""
        issuer = urlsplit(settings.HEARTBIT_OIDC_ISSUER).netloc
        only = settings.HEARTBIT_OIDC_ONLY
        return super().get_context_data(issuer=issuer, only_issuer=only, **context)


def locked_out(
    request: HttpRequest, response: HttpResponse | None = None, *args: Any, **kwargs: Any
) -> HttpResponse:
    """Show the page after too many failed logins (see ``AXES_LOCKOUT_CALLABLE``)."""
    return render(request, "web/locked.html", {"problem": PAUSE}, status=429)


def client_address(request: HttpRequest) -> str | None:
    """Return the address by which failed logins are counted (see ``AXES_CLIENT_IP_CALLABLE``).

    The address comes from the web server (``HEARTBIT_TRUSTED_PROXIES``), never from a header. An
    IPv6 network counts as one address, as for failed API keys.
    """
    found = customer(request.META.get("REMOTE_ADDR", ""))
    if found is None:
        return None
    return str(found.network_address if isinstance(found, IPv6Network) else found)


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the user's first workspace; show a page to a user without one."""
    first = workspaces_of(request.user).first()
    if first is not None:
        return redirect("web:runs", workspace=first.slug)
    return render(request, "web/nowhere.html", status=403)
