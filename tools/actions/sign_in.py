"""Start and finish a sign-in at an MCP server."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import httpx
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from heartbit_site.base import aio, secrets
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.credentials import OAuthAppCredential, SignInCredential
from heartbit_site.base.errors import ConfigurationError, ConflictError
from tools.credentials.oauth import TokenAnswer
from tools.credentials.values import reveal
from tools.models import Credential, McpServer, PendingSignIn
from tools.sign_in.errors import SignInError
from tools.sign_in.plan import SignInPlan
from tools.sign_in.requests import sign_in_client
from tools.sign_in.storage import find_sign_in, renewed, sign_in_name, store

#: Time that a person has at the authorization server.
PATIENCE: Final = timedelta(minutes=10)
#: Time that finding out where to sign in may take.
SECONDS: Final = 25.0
CALLBACK: Final = "/oauth/callback/"
DOCUMENT: Final = "/oauth/client.json"


def start_sign_in(server: McpServer, *, user_id: int, session: str, is_shared: bool) -> str:
    """Find the authorization server of a server, and store the sign-in.

    Args:
        server: The server.
        user_id: The person.
        session: Key of their browser session, which alone may finish it.
        is_shared: True if the workspace signs in: its runs without a person use it as well.

    Returns:
        The address of the authorization server, for the person's browser.

    Raises:
        ConfigurationError: People do not sign in to this server.
        SignInError: Signing in is not possible, for the given reason.
    """
    if not server.sign_in or not server.enabled:
        raise ConfigurationError(f"The MCP server {server.name} is disabled or has no sign-in.")
    owner = None if is_shared else user_id
    known = find_sign_in(server, owner)
    from tools.sign_in.flow import authorization_link  # noqa: PLC0415  the SDK takes a second

    plan = aio.run(_begin(server, _app(server), _wanted(known)))
    with transaction.atomic():
        now = timezone.now()
        PendingSignIn.objects.filter(expires_at__lt=now).delete()
        PendingSignIn.objects.filter(server=server, started_by_id=user_id).delete()
        row = PendingSignIn.objects.create(
            workspace_id=server.workspace_id,
            server=server,
            started_by_id=user_id,
            is_shared=is_shared,
            state_hash=hashed(plan.state),
            session_hash=hashed(session),
            expires_at=now + PATIENCE,
        )
        secrets.store(row, "plan", plan.model_dump_json())
    return authorization_link(plan)


def hashed(text: str) -> str:
    """Return the SHA-256 of a secret that is looked up but never shown."""
    return hashlib.sha256(text.encode()).hexdigest()


async def _begin(server: McpServer, app: OAuthAppCredential | None, scope: str) -> SignInPlan:
    from tools.sign_in.flow import begin  # noqa: PLC0415  as above

    root = settings.HEARTBIT_PUBLIC_URL
    try:
        async with asyncio.timeout(SECONDS), sign_in_client() as http:
            return await begin(
                server.url,
                http,
                app=app,
                redirect_uri=f"{root}{CALLBACK}",
                document_url=f"{root}{DOCUMENT}" if root.startswith("https://") else "",
                scope=scope,
            )
    except TimeoutError:
        raise SignInError(
            f"The MCP server {server.name} or its authorization server did not answer in time: "
            f"try again."
        ) from None
    except httpx.HTTPError as error:
        words = str(error).rstrip(".") or type(error).__name__
        raise SignInError(f"A server cannot be reached: {words}.") from None


def _app(server: McpServer) -> OAuthAppCredential | None:
    if not server.credential:
        return None
    row = Credential.objects.filter(
        workspace=server.workspace_id,
        user=None,
        enabled=True,
        name=server.credential,
        kind=OAuthAppCredential.kind,
    ).first()
    value = None if row is None else reveal(row)
    if not isinstance(value, OAuthAppCredential):
        raise ConfigurationError(
            f"The MCP server {server.name} names the OAuth app {server.credential!r}, which the "
            "workspace does not have or has disabled: add it under Credentials."
        )
    return value


def _wanted(known: Credential | None) -> str:
    return "" if known is None else str(known.settings.get("wanted_scope", ""))


def take_sign_in(state: str, *, user_id: int, session: str) -> tuple[PendingSignIn, SignInPlan]:
    """Remove and return the sign-in of an authorization response, which is accepted once.

    Args:
        state: State parameter of the response.
        user_id: The person who returned.
        session: Key of their browser session.

    Raises:
        SignInError: This person and session have no such sign-in, or it has expired.
    """
    with transaction.atomic():
        row = (
            PendingSignIn.objects.select_for_update(of=("self",))
            .select_related("server__workspace")
            .filter(
                state_hash=hashed(state),
                session_hash=hashed(session),
                started_by_id=user_id,
                expires_at__gt=timezone.now(),
            )
            .first()
        )
        if row is None:
            raise SignInError(
                "This sign-in was started in another browser, is already finished, or has "
                "expired: open the server's page and connect again."
            )
        plan = SignInPlan.model_validate_json(secrets.reveal(row, "plan"))
        PendingSignIn.objects.filter(pk=row.pk).delete()
    return row, plan


def finish_sign_in(
    row: PendingSignIn, plan: SignInPlan, answer: Mapping[str, str], *, by: Actor
) -> None:
    """Exchange a response's code for tokens, and store them as the person's credential.

    Args:
        row: The sign-in, as ``take_sign_in`` returned it.
        plan: Its plan.
        answer: Parameters of the response.
        by: The person, for the audit, which never contains a token.

    Raises:
        SignInError: The response is not valid, or is a refusal.
        OAuthError: The server returns no token.
        ConflictError: The server was changed during the sign-in, or the name is taken.
    """
    tokens = aio.run(_exchange(plan, answer))
    with transaction.atomic():
        server = McpServer.objects.select_for_update().filter(pk=row.server_id).first()
        if server is None or not server.sign_in or server.url != row.server.url:
            raise ConflictError("The MCP server was changed during the sign-in: connect again.")
        _keep(server, None if row.is_shared else row.started_by_id, plan, tokens, by=by)


async def _exchange(plan: SignInPlan, answer: Mapping[str, str]) -> TokenAnswer:
    from tools.sign_in.flow import finish  # noqa: PLC0415  as above

    try:
        async with sign_in_client() as http:
            return await finish(plan, answer, http)
    except httpx.HTTPError as error:
        words = str(error).rstrip(".") or type(error).__name__
        raise SignInError(f"{plan.issuer} cannot be reached: {words}.") from None


def _keep(
    server: McpServer, owner: int | None, plan: SignInPlan, tokens: TokenAnswer, *, by: Actor
) -> None:
    name, kind = sign_in_name(server.name), SignInCredential.kind
    rows = Credential.objects.select_for_update().filter(workspace=server.workspace_id, user=owner)
    row = rows.filter(name=name).first()
    if row is not None and row.kind != kind:
        raise ConflictError(f"Another credential has the name {name!r}: rename it first.")
    action = "credential.add" if row is None else "credential.change"
    row = row or Credential(workspace_id=server.workspace_id, user_id=owner, name=name, kind=kind)
    row.enabled = True
    value = SignInCredential.model_validate(
        plan.model_dump(include=set(SignInCredential.model_fields))
        | {
            "url": server.url.partition("?")[0],
            "access_token": tokens.access_token,
            "expires_at": 0.0,
        }
    )
    store(row, renewed(value, tokens))
    record_on(by, action, row, details={"sign_in": plan.issuer, "server": server.name})
