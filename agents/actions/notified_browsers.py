"""Browsers that notify their person of what waits: list, add and remove."""

from __future__ import annotations

from typing import Final

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from agents.choices import DeliveryStatus
from agents.models import NotifiedBrowser, PushKey
from agents.models.notified_browser import MOST_CHARACTERS
from agents.models.webhook import check_webhook_url
from heartbit_site.base import secrets
from heartbit_site.base.access import Access, roles_with
from heartbit_site.base.audit import actor_of, record_on
from heartbit_site.base.errors import ConfigurationError, NotFoundError
from heartbit_site.base.models import Membership, Workspace
from heartbit_site.base.rights import require

NEEDS: Final = "approvals:decide"
MOST: Final = 20  # browsers of a person in a workspace


def push_key() -> PushKey:
    """Return the installation's key, made when it is first asked for."""
    found = PushKey.objects.first()
    if found is not None:
        return found
    from agents.delivery import web_push  # noqa: PLC0415  costs 50 ms that most processes save

    pem, public = web_push.new_key()
    private = secrets.seal(PushKey(pk=1), "private", pem)
    return PushKey.objects.get_or_create(pk=1, defaults={"public": public, "private": private})[0]


def browsers_of(access: Access) -> list[NotifiedBrowser]:
    """Return the browsers that notify the caller about the workspace, the oldest first."""
    rows = NotifiedBrowser.objects.filter(workspace=access.workspace, user=access.user_id)
    return list(rows.order_by("pk")) if access.user_id is not None else []


@transaction.atomic
def add_browser(access: Access, *, endpoint: str, public: str, secret: str) -> None:
    """Notify the caller in a browser, in place of the person that it notified in the workspace.

    Args:
        access: The caller, a person.
        endpoint: URL that the browser's push service gave.
        public: The browser's key ``p256dh``.
        secret: The browser's key ``auth``.

    Raises:
        ConfigurationError: The URL or a key is not valid, or the person has 20 browsers.
    """
    workspace = access.workspace
    require(actor_of(access), NEEDS, workspace_id=workspace.pk)
    if access.user_id is None:
        raise ConfigurationError("Only a person can be notified in a browser.")
    _check(endpoint, public, secret)
    # Locked, so that concurrent requests cannot exceed the limit.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    known = NotifiedBrowser.objects.filter(workspace=workspace, endpoint=endpoint)
    row = known.filter(user=access.user_id, public=public).first()
    if row is not None and secrets.reveal(row, "secret") == secret:
        return
    known.delete()
    if len(browsers_of(access)) >= MOST:
        raise ConfigurationError(
            f"{MOST} browsers notify you here, which is the most: remove one under Account."
        )
    row = NotifiedBrowser.objects.create(
        workspace=workspace,
        user_id=access.user_id,
        endpoint=endpoint,
        public=public,
        status=DeliveryStatus.DELIVERED,
    )
    secrets.store(row, "secret", secret)
    record_on(actor_of(access), "browser.add", row)


def _check(endpoint: str, public: str, secret: str) -> None:
    from agents.delivery import web_push  # noqa: PLC0415  see push_key

    try:
        check_webhook_url(endpoint)
    except ValidationError as error:
        raise ConfigurationError(
            f"The address of the push service is not valid: {error.messages[0]}"
        ) from None
    if len(endpoint) > MOST_CHARACTERS:
        raise ConfigurationError(
            f"The address of the push service is longer than {MOST_CHARACTERS} characters."
        )
    try:
        web_push.check_keys(public, secret)
    except ValueError:
        raise ConfigurationError(
            "The browser's keys are not those of Web Push: a point of P-256 and 16 bytes."
        ) from None


@transaction.atomic
def remove_browser(access: Access, row: NotifiedBrowser) -> None:
    """Notify the caller no longer in one of ``browsers_of``.

    Raises:
        NotFoundError: It is another person's.
    """
    if (row.user_id, row.workspace_id) != (access.user_id, access.workspace.pk):
        raise NotFoundError("This browser is not yours, or it is already removed.")
    NotifiedBrowser.objects.filter(pk=row.pk).delete()
    record_on(actor_of(access), "browser.remove", row)


def prune_browsers() -> int:
    """Delete the browsers of people who may decide in the workspace no longer; return how many."""
    deciders = Membership.objects.filter(
        workspace=OuterRef("workspace"), user=OuterRef("user"), role__in=roles_with(NEEDS)
    )
    stay = Q(user__is_active=True) & (Q(user__is_superuser=True) | Exists(deciders))
    return NotifiedBrowser.objects.exclude(stay).delete()[0]
