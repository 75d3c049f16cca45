"""Create the account of a person."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from heartbit_site.base.actions.save_member import save_member
from heartbit_site.base.actions.set_password import check_password
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import Workspace


class UserExistsError(ConflictError):
    """An account of that name exists."""


@transaction.atomic
def create_user(
    name: str,
    password: str,
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
        password: The first password.
        by: Author, for the audit.
        email: Address for mails; empty for none.
        superuser: Give every right in every workspace; takes no membership.
        workspace: Workspace that the person becomes a member of; None for none.
        role: One of ``Role``, with a workspace.

    Raises:
        UserExistsError: The name is taken.
        ConfigurationError: Name, address or role is not valid.
        PasswordError: The password is too weak.
    """
    user = User(
        username=User.normalize_username(name),
        email=User.objects.normalize_email(email),
        is_staff=superuser,
        is_superuser=superuser,
    )
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise ConfigurationError(f"The {_FIELDS.get(field, field)}: {problems[0]}") from error
    if User.objects.filter(username=user.username).exists():
        raise UserExistsError(
            f"There is a user {user.username} already: choose another name, or let an admin of the "
            "workspace add them as a member, on the workspace's page in the admin or with "
            "POST /members."
        )
    check_password(password, user)
    user.set_password(password)
    user.save()
    record_on(by, "user.add", user, details={"superuser": superuser})
    if workspace is not None:
        save_member(workspace, user, role, by=by)
    return user


_FIELDS = {"username": "user name", "email": "mail address"}
