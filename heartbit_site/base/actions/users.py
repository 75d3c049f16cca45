"""Create accounts of people, and set their passwords."""

from __future__ import annotations

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from heartbit_site.base.actions.members import save_member
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, ConflictError, NotFoundError
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import User
from heartbit_site.base.rights import require


class UserNotFoundError(NotFoundError):
    """No account has that name."""


class PasswordError(ConfigurationError):
    """The password is too weak."""


@transaction.atomic
def set_password(name: str, password: str, *, by: Actor) -> User:
    """Replace a person's password; their sessions end, and so does a lockout of the name.

    Args:
        name: The user name.
        password: The new password.
        by: Author, for the audit.

    Raises:
        UserNotFoundError: There is no such account.
        PasswordError: The password is too weak.
        ForbiddenError: It is another person's, and the author does not manage the installation.
    """
    # Commands that only read run without the app of lockouts.
    from axes.utils import reset  # noqa: PLC0415

    user = find_user(name, lock=True)
    if user.pk != by.user_id:
        require(by, "fleet:manage", workspace_id=None)
    check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    reset(username=user.username)
    record_on(by, "user.password", user)
    return user


def find_user(name: str, *, lock: bool = False) -> User:
    """Return the account of a name.

    Raises:
        UserNotFoundError: There is no such account.
    """
    users = User.objects.select_for_update() if lock else User.objects.all()
    # PostgreSQL refuses NUL, which no name contains.
    user = users.filter(username=name).first() if "\x00" not in name else None
    if user is None:
        raise UserNotFoundError(
            f"There is no user {name[:150]!r}: `heartbit users list` shows them all."
        )
    return user


def check_password(password: str, user: User) -> None:
    """Refuse a password that Django's validators refuse.

    Raises:
        PasswordError: The password is too weak.
    """
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise PasswordError(" ".join(error.messages)) from error


class UserExistsError(ConflictError):
    """An account of that name exists."""


@transaction.atomic
def create_user(
    name: str,
    password: str | None,
    *,
    by: Actor,
    email: str = "",
    superuser: bool = False,
    workspace: Workspace | None = None,
    role: str = "",
) -> User:
    """Create an account, and its membership of a workspace.

    Args:
        name: The user name that the person logs in with.
        password: The first password; None: no password opens the account.
        by: Author, for the audit.
        email: Address for mails; empty for none.
        superuser: Give every right in every workspace; takes no membership.
        workspace: Workspace that the person becomes a member of; None for none.
        role: One of ``Role``, with a workspace.

    Raises:
        UserExistsError: The name is taken.
        ConfigurationError: Name, address or role is not valid.
        PasswordError: The password is too weak.
        ForbiddenError: The author does not manage the installation.
    """
    require(by, "fleet:manage", workspace_id=None)
    user = User(
        username=User.normalize_username(name),
        email=User.objects.normalize_email(email),
        is_staff=superuser,
        is_superuser=superuser,
    )
    _check_new(user)
    if password is not None:
        check_password(password, user)
    user.set_password(password)
    user.save()
    record_on(by, "user.add", user, details={"superuser": superuser})
    if workspace is not None:
        save_member(workspace, user, role, by=by)
    return user


_FIELDS = {"username": "user name", "email": "mail address"}


def _check_new(user: User) -> None:
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise ConfigurationError(f"The {_FIELDS.get(field, field)}: {problems[0]}") from error
    if User.objects.filter(username=user.username).exists():
        raise UserExistsError(
            f"The user {user.username} already exists: choose another name, or let an admin of the "
            "workspace add them as a member, on the workspace's page in the admin or with "
            "POST /members."
        )
