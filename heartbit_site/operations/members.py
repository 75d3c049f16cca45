"""The caller, the members of the workspace with their roles, and the API keys of programs."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from heartbit_site.base.access import Access, username_of
from heartbit_site.base.actions import members
from heartbit_site.base.actions.api_keys import create_api_key, revoke_api_keys
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConflictError, ForbiddenError, NotFoundError, Remedy
from heartbit_site.base.models import ApiKey, Membership, Workspace
from heartbit_site.base.people import User
from heartbit_site.contract.members import (
    KeyIn,
    KeyOut,
    KeysOut,
    MemberIn,
    MemberOut,
    MembersOut,
    MeOut,
    NewKeyOut,
    RoleIn,
    Username,
    WorkspaceOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page


def show_me(access: Access) -> MeOut:
    """Return the caller and their rights in the workspace; no scope is needed."""
    return MeOut.of(access, username=username_of(access), workspace=workspace_of(access))


def workspace_of(access: Access) -> WorkspaceOut:
    """Return the caller's workspace and their rights there."""
    return WorkspaceOut.of(access.workspace, scopes=sorted(access.scopes))


class UserNotFoundError(NotFoundError):
    """No account has that name."""


class AlreadyMemberError(ConflictError):
    """The person is already a member of the workspace."""


def list_members(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> MembersOut:
    """Return the workspace's members, the newest first; superusers need no membership."""
    rows = Membership.objects.filter(workspace=access.workspace).select_related("user")
    return list_page(MembersOut, rows, "-pk", cursor, limit, _shown)


def add_member(access: Access, body: MemberIn) -> MemberOut:
    """Add a person by user name; 409 if they are already a member."""
    user = User.objects.filter(username=body.username).first()
    if user is None:
        raise UserNotFoundError(
            f"There is no account {body.username[:60]!r}: a superuser creates one in the admin or "
            "with `heartbit users create`."
        )
    if Membership.objects.filter(workspace=access.workspace, user=user).exists():
        raise AlreadyMemberError(
            f"{user.get_username()} is already a member: PATCH changes the role."
        )
    return _shown(members.save_member(access.workspace, user, body.role, by=actor_of(access)))


def change_member(access: Access, username: Username, body: RoleIn) -> MemberOut:
    """Change a role, also for the member's keys, at once; 409 for the only admin."""
    user = find_member(access.workspace, username).user
    return _shown(members.save_member(access.workspace, user, body.role, by=actor_of(access)))


def remove_member(access: Access, username: Username) -> None:
    """Remove a member and their keys for the workspace; 409 for the only admin."""
    user = find_member(access.workspace, username).user
    members.remove_member(access.workspace, user, by=actor_of(access))


def _shown(row: Membership) -> MemberOut:
    return MemberOut.of(row, name=row.user.get_full_name())


def find_member(workspace: Workspace, username: str) -> Membership:
    """Return a person's membership, with the person.

    Raises:
        MemberNotFoundError: They are not a member.
    """
    rows = Membership.objects.select_related("user")
    missing = members.MemberNotFoundError(
        f"{username[:60]!r} is not a member of {workspace.slug}.",
        remedy=Remedy("members.list_members"),
    )
    return find_row(rows.filter(workspace=workspace, user__username=username), missing)


class KeyNotFoundError(NotFoundError):
    """The workspace has no key with this prefix."""


def list_keys(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> KeysOut:
    """Return the workspace's keys, newest first, revoked ones included; secrets are not stored."""
    return list_page(KeysOut, _keys(access.workspace), "-pk", cursor, limit)


def create_key(access: Access, body: KeyIn) -> NewKeyOut:
    """Make a key. It is in this answer only, and ends after 90 days unless `days` differs.

    A key that is made with a key ends no later than that one, and is revoked with it.
    """
    user = User.objects.filter(pk=access.user_id).first() if access.user_id else None
    end = _end(body)
    if access.key_id is not None:
        last = ApiKey.objects.get(pk=access.key_id).expires_at
        end = min(filter(None, (end, last)), default=None)
    return _created(access, body, user, end)


def revoke_key(access: Access, prefix: Word) -> KeyOut:
    """Revoke a key and those that were made with it: they are refused from the next request on."""
    return _revoked(access, prefix, _keys(access.workspace), Remedy("keys.list_keys"))


class NoPersonError(ConflictError):
    """The caller is no person: a command created the key."""


def list_own_keys(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> KeysOut:
    """Return your own keys for the workspace, the newest first; secrets are not stored."""
    rows = _keys(access.workspace).filter(user=_person(access))
    return list_page(KeysOut, rows, "-pk", cursor, limit)


def create_own_key(access: Access, body: KeyIn) -> NewKeyOut:
    """Make a key of your own: it never has more rights than you have, and is in this answer only.

    A program's key makes none: sign in.
    """
    user = _in_person(access)
    return _created(access, body, user, _end(body))


def revoke_own_key(access: Access, prefix: Word) -> KeyOut:
    """Revoke a key of your own: it is refused from its next request on. Sign in for it."""
    rows = _keys(access.workspace).filter(user=_in_person(access))
    return _revoked(access, prefix, rows, Remedy("own_keys.list_own_keys"))


def _person(access: Access) -> User:
    user = User.objects.filter(pk=access.user_id).first() if access.user_id else None
    if user is None:
        raise NoPersonError(
            "This caller is no person: sign in, or use a key that a person made; `heartbit keys "
            "--as USERNAME` acts for a member."
        )
    return user


def _in_person(access: Access) -> User:
    """Return the person of a session or of a command on this machine.

    Raises:
        NoPersonError: The caller is no person.
        ForbiddenError: A key or a token acts for the person.
    """
    user = _person(access)
    if access.via == "api":
        raise ForbiddenError(
            "A key does not change its owner's keys: sign in, and use the page Account; a key with "
            "`workspace:manage` can create and revoke keys of the workspace."
        )
    return user


def _keys(workspace: Workspace) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(workspace=workspace).select_related("user")


def _end(body: KeyIn) -> datetime | None:
    if body.expires_at is None and body.days is not None:
        return timezone.now() + timedelta(days=body.days)
    return body.expires_at


def _created(access: Access, body: KeyIn, user: User | None, end: datetime | None) -> NewKeyOut:
    row, key = create_api_key(
        access.workspace,
        body.name,
        scopes=body.scopes,
        user=user,
        expires_at=end,
        by=actor_of(access),
    )
    return NewKeyOut.of(row, key=key)


def _revoked(access: Access, prefix: str, keys: QuerySet[ApiKey], remedy: Remedy) -> KeyOut:
    # Of a whole key only the public part is looked at, and nothing of it is repeated.
    public = prefix.strip().removeprefix("hb_").partition("_")[0]
    missing = KeyNotFoundError("The workspace has no API key with this prefix.", remedy=remedy)
    row = find_row(keys.filter(prefix=public), missing)
    revoke_api_keys([row.pk], by=actor_of(access))
    row.refresh_from_db(fields=["revoked_at"])
    return KeyOut.of(row)
