"""The way to the issuer, and the way back."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import get_random_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from heartbit_site.api.errors import TooManyRequestsError
from heartbit_site.api.rate_limit import bucket_key, rate_limiter
from heartbit_site.base.audit import NOBODY, record
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.issuer_errors import BadTokenError, IssuerError
from heartbit_site.base.web_url import split_web_url
from heartbit_site.web.oidc.adapters import IssuerAdapter, nonce_of
from heartbit_site.web.oidc.admit import StaleSignInError

_LETTERS = 32  # of a state


@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Send a person to the issuer, with a state, a nonce and a PKCE challenge of their own."""
    try:
        rate_limiter().take(_bucket(request))
        state = get_random_string(_LETTERS)
        provider = get_adapter().get_provider(request, settings.HEARTBIT_OIDC_ISSUER)
        found: HttpResponse = provider.redirect(
            request,
            AuthProcess.LOGIN,
            next_url=_next(request),
            auth_params={"nonce": nonce_of(state)},
            state_id=state,
        )
        if split_web_url(str(found.headers.get("Location", ""))) is None:
            raise IssuerError("The issuer names no page of its own to sign in on.")
    except TooManyRequestsError as error:
        return _refuse(request, str(error), status=429)
    except IssuerError as error:
        return _refuse(request, str(error), status=502)
    return found


@never_cache
@require_GET
def come_back(request: HttpRequest) -> HttpResponse:
    """Take what the issuer answers: sign the person in, or say why not and log it in the audit."""
    try:
        rate_limiter().take(_bucket(request))
        _check_sender(request)
        view: Any = OAuth2CallbackView.adapter_view(
            IssuerAdapter(request, settings.HEARTBIT_OIDC_ISSUER)
        )
        answer: HttpResponse = view(request)
    except TooManyRequestsError as error:
        return _refuse(request, str(error), status=429)
    except StaleSignInError as error:
        return _refuse(request, str(error), status=400)
    except BadTokenError as error:
        return _refuse_audited(request, f"The issuer's ID token is not valid: {error}.")
    except HeartbitError as error:
        return _refuse_audited(request, str(error))
    return answer


def _check_sender(request: HttpRequest) -> None:
    """Refuse an answer of another issuer (RFC 9207).

    Raises:
        StaleSignInError: It is of another one.
    """
    sender = request.GET.get("iss", settings.HEARTBIT_OIDC_ISSUER)
    if sender.rstrip("/") != settings.HEARTBIT_OIDC_ISSUER:
        raise StaleSignInError("This answer is of another issuer than the one you went to.")


def _bucket(request: HttpRequest) -> str:
    return f"oidc:{bucket_key(request.META.get('REMOTE_ADDR', ''))}"


def _next(request: HttpRequest) -> str:
    """Return the page to open after the sign-in: one of this site, else none."""
    wanted = request.GET.get("next", "")
    host = urlsplit(settings.HEARTBIT_PUBLIC_URL)
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={host.netloc}, require_https=host.scheme == "https"
    )
    return wanted if ours else ""


def _refuse_audited(request: HttpRequest, why: str) -> HttpResponse:
    record(NOBODY, "user.sign_in_refused", workspace=None, details={"reason": why[:300]})
    return _refuse(request, why, status=403)


def _refuse(request: HttpRequest, why: str, *, status: int) -> HttpResponse:
    return render(request, "web/sign_in_refused.html", {"problem": why}, status=status)
