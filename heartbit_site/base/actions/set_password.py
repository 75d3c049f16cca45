"""Set a new password for an account."""

from __future__ import annotations

from axes.utils import reset
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, NotFoundError


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
    """
    user = find_user(name, lock=True)
    check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    reset(username=user.username)
    record_on(by, "user.password", user)
    return user


def find_user(name: str, *, lock: bool = False) -> User:
    """Return the account of a name.

    Raises:
        UserNotFoundError: There is none.
    """
    users = User.objects.select_for_update() if lock else User.objects.all()
    # PostgreSQL refuses NUL, and no name has one.
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
