"""Users: accounts of people in the installation, which only operators see all of."""

from __future__ import annotations

from heartbit_site.base.access import Access
from heartbit_site.base.actions import users
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.people import User
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.users import PasswordIn, UserIn, UserOut, UsersOut
from heartbit_site.operations.paging import list_page


def list_users(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> UsersOut:
    """Return the accounts of the installation with their roles and last logins, by name."""
    rows = User.objects.prefetch_related("memberships__workspace")
    return list_page(UsersOut, rows, "username", cursor, limit, _view)


def create_user(access: Access, body: UserIn) -> UserOut:
    """Create an account that belongs to the caller's workspace; 409 if the name is taken."""
    if body.superuser:
        _only_here(access, "makes a superuser")
    made = users.create_user(
        body.name,
        body.password,
        by=actor_of(access),
        email=body.email,
        superuser=body.superuser,
        workspace=None if body.superuser else access.workspace,
        role=body.role,
    )
    return _view(made)


def set_password(access: Access, account: Word, body: PasswordIn) -> UserOut:
    """Replace a person's password: their sessions end, and so does a lockout of the name."""
    if users.find_user(account).is_superuser:
        _only_here(access, "sets a superuser's password")
    return _view(users.set_password(account, body.password, by=actor_of(access)))


def _only_here(access: Access, act: str) -> None:
    """Refuse a program what would give it every right."""
    if access.via not in ("terminal", "inline"):
        raise ForbiddenError(
            f"Only the command line of the installation {act}: `heartbit users` there."
        )


def _view(user: User) -> UserOut:
    members = user.memberships.all()
    rights = [f"{member.workspace.slug}: {member.role}" for member in members]
    return UserOut(
        name=user.username,
        email=user.email,
        state="active" if user.is_active else "closed",
        rights=["superuser"] if user.is_superuser else rights,
        last_login=user.last_login,
    )
