"""The account that a person of the issuer opens, and the roles that their groups give."""

from __future__ import annotations

import logging
from typing import Final

from django.conf import settings
from django.db import transaction

from heartbit_site.base.actions.members import LastAdminError, remove_member, save_member
from heartbit_site.base.actions.users import create_user
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, ConflictError, HeartbitError
from heartbit_site.base.mail_addresses import same_address
from heartbit_site.base.models import Membership, Role, Workspace
from heartbit_site.base.people import User
from heartbit_site.web.oidc.identity import Identity

logger = logging.getLogger(__name__)

#: Author of what a sign-in changes, for the audit.
BY: Final = Actor("OpenID Connect", "system")
_RANK: Final = {role: rank for rank, role in enumerate(Role.values)}


class SignInRefusedError(HeartbitError):
    """A person of the issuer who may not sign in here."""


class StaleSignInError(HeartbitError):
    """An answer that belongs to no sign-in of this session; anyone can send one."""


@transaction.atomic
def admit(identity: Identity, linked: User | None) -> User:
    """Return the account that a person signs in to, with the roles of their groups.

    An account that is not linked yet is the one with the person's verified address, if
    ``HEARTBIT_OIDC_LINK_EMAIL`` allows it; else a new one, if a group gives a role. A name that
    belongs to another account never opens it.

    Args:
        identity: The person.
        linked: The account that the person opened before; None: none.

    Raises:
        SignInRefusedError: The person may not sign in; nothing is changed.
    """
    roles = roles_of(identity.groups)
    user = linked or _by_email(identity.email)
    if user is None:
        user = _create(identity, any(roles.values()))
    if not user.is_active:
        raise SignInRefusedError("Your account is closed: ask an administrator to reopen it.")
    if linked is None:
        record_on(BY, "user.link", user, details=_origin(identity))
    if not user.is_superuser:  # belongs to all workspaces without a role
        _give(user, roles)
    record_on(Actor(user.username, "web", user.pk), "user.sign_in", user, details=_origin(identity))
    return user


def roles_of(groups: frozenset[str]) -> dict[str, str]:
    """Return the highest role of a person's groups by workspace; empty text: no role.

    Every workspace that ``HEARTBIT_OIDC_ROLES`` names is a key.
    """
    found: dict[str, str] = {}
    for group, roles in settings.HEARTBIT_OIDC_ROLES.items():
        for workspace, role in roles.items():
            best = found.setdefault(workspace, "")
            if group in groups and _RANK[role] > _RANK.get(best, -1):
                found[workspace] = role
    return found


def _origin(identity: Identity) -> dict[str, str]:
    return {"issuer": settings.HEARTBIT_OIDC_ISSUER, "subject": identity.subject}


def _by_email(email: str) -> User | None:
    if not email or not settings.HEARTBIT_OIDC_LINK_EMAIL:
        return None
    alike = User.objects.select_for_update().filter(email__iexact=email)
    found = [user for user in alike if same_address(user.email, email)]
    if len(found) > 1:
        raise SignInRefusedError(
            "Several accounts have your e-mail address: ask an administrator to leave it to one."
        )
    if found and found[0].is_superuser:
        raise SignInRefusedError(
            "Your e-mail address is of an administrator's account, which only its password opens."
        )
    return found[0] if found else None


def _create(identity: Identity, has_role: bool) -> User:  # noqa: FBT001
    if not has_role:
        raise SignInRefusedError(
            "None of your groups has a role here: ask an administrator to add you."
        )
    if not identity.name:
        raise SignInRefusedError(
            "The issuer names no preferred_username for you: ask an administrator to release it."
        )
    try:
        return create_user(identity.name, None, by=BY, email=identity.email)
    except ConflictError:
        raise SignInRefusedError(
            f"The name {identity.name[:150]} belongs to another account here: ask an administrator "
            "to rename it, or to link it by its e-mail address."
        ) from None
    except ConfigurationError as error:
        raise SignInRefusedError(f"No account can be made for you. {error}") from error


def _give(user: User, roles: dict[str, str]) -> None:
    workspaces = {one.slug: one for one in Workspace.objects.filter(slug__in=roles)}
    for slug, role in sorted(roles.items()):
        workspace = workspaces.get(slug)
        if workspace is None:
            logger.warning("HEARTBIT_OIDC_ROLES names the workspace %s, which does not exist", slug)
            continue
        try:
            if role:
                save_member(workspace, user, role, by=BY)
            elif Membership.objects.filter(workspace=workspace, user=user).exists():
                remove_member(workspace, user, by=BY)
        except LastAdminError as error:
            raise SignInRefusedError(
                f"Your groups no longer give your role, but {error}"
            ) from error
