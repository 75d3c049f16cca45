"""allauth's adapters with the checks that Heartbit adds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NoReturn

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin, SocialToken
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib.auth import login
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from heartbit_site.base import aio
from heartbit_site.base.issuer import Issuer
from heartbit_site.base.issuer_errors import BadTokenError, IssuerError
from heartbit_site.web.oidc.admit import SignInRefusedError, StaleSignInError, admit
from heartbit_site.web.oidc.backends import BY_ISSUER
from heartbit_site.web.oidc.guarded_session import GuardedSession
from heartbit_site.web.oidc.identity import Identity

_REQUIRED: Final = ("exp", "iat", "iss", "aud", "sub", "nonce")


def nonce_of(state_id: str) -> str:
    """Return the nonce of a sign-in, which binds its ID token to its state, and so to a session."""
    return salted_hmac("heartbit.oidc.nonce", state_id, algorithm="sha256").hexdigest()


class IssuerAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """The protocol, with an issuer that the settings fix and an ID token that is checked."""

    @property
    def openid_config(self) -> Mapping[str, Any]:
        """Metadata that the issuer publishes about itself.

        Raises:
            IssuerError: It cannot be read.
        """
        return aio.run(_issuer().metadata())

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        """Return the way back, which no header of the request can change."""
        return f"{settings.HEARTBIT_PUBLIC_URL}{reverse('oidc-callback')}"

    def parse_token(self, data: Mapping[str, Any]) -> SocialToken:
        """Return the access token, which is not stored."""
        return SocialToken(token=str(data["access_token"]))

    def complete_login(
        self, request: HttpRequest, app: Any, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        """Return the person that a valid ID token is about.

        Raises:
            BadTokenError: The ID token is not valid.
            IssuerError: The issuer cannot be read.
        """
        written = str(kwargs["response"].get("id_token", ""))
        known = dict(aio.run(_issuer().claims_of(written, app.client_id, _REQUIRED)))
        expected = nonce_of(request.GET.get("state", ""))
        if not constant_time_compare(str(known["nonce"]), expected):
            raise BadTokenError("its nonce is of another sign-in")
        if known.get("azp", app.client_id) != app.client_id:
            raise BadTokenError("it was issued to another client")
        if self.openid_config.get("userinfo_endpoint"):
            told = self._fetch_user_info(token.token)
            if told.get("sub") != known["sub"]:
                raise BadTokenError("the userinfo is about another person")
            known = {**told, **known}
        account = SocialAccount(provider=self.provider_id, uid=str(known["sub"]))
        found = SocialLogin(account=account, provider=self.get_provider())
        found.identity = Identity.of_claims(known)
        return found


class SignInAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Heartbit's answers to allauth's questions (``SOCIALACCOUNT_ADAPTER``)."""

    def get_requests_session(self) -> GuardedSession:
        """Return the only way out."""
        return GuardedSession()

    def list_apps(
        self, request: HttpRequest, provider: Any = None, client_id: Any = None
    ) -> list[Any]:
        """Return the issuer of the settings; rows of the database name none."""
        found = super().list_apps(request, provider=provider, client_id=client_id)
        return [app for app in found if app.pk is None]

    def get_provider(self, request: HttpRequest, provider: Any, client_id: Any = None) -> Any:
        """Return the provider, which speaks through ``IssuerAdapter``."""
        found = super().get_provider(request, provider, client_id)
        found.oauth2_adapter_class = IssuerAdapter
        return found

    def authenticate_by_email(self, sociallogin: SocialLogin) -> None:
        """Link nothing: ``admit`` decides about addresses."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> NoReturn:
        """Sign the person in, which ends allauth's part.

        Raises:
            ImmediateHttpResponse: The person is signed in, and redirected to their page.
            SignInRefusedError: The person may not sign in.
        """
        account = sociallogin.account
        linked = account.user if account.pk else None
        try:
            with transaction.atomic():
                user = admit(sociallogin.identity, linked)
                if linked is None:
                    SocialAccount.objects.create(
                        user=user, provider=account.provider, uid=account.uid
                    )
        except IntegrityError:  # the same person signed in twice at once
            raise SignInRefusedError("Another sign-in of yours came between: try again.") from None
        login(request, user, backend=BY_ISSUER)  # under another session key
        raise ImmediateHttpResponse(redirect(sociallogin.state.get("next") or "home"))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Any = None,
        extra_context: Any = None,
    ) -> NoReturn:
        """Refuse with a sentence in place of allauth's page.

        Raises:
            IssuerError: The exchange with the issuer failed.
            StaleSignInError: The answer belongs to no sign-in, or says that it was cancelled.
        """
        if exception is not None:
            raise IssuerError("The issuer does not answer as it should.") from exception
        raise StaleSignInError(
            "This sign-in was cancelled, has been used already, or began in another browser or "
            "more than ten minutes ago."
        )


@cache
def _issuer() -> Issuer:
    return Issuer(settings.HEARTBIT_OIDC_ISSUER)
