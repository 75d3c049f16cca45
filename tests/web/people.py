"""People with accounts: members with a role, and operators of the installation."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from heartbit_site.base.models import Membership
from heartbit_site.base.models.membership import Role

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


def person(name: str = "", *, password: str | None = None, operator: bool = False) -> User:
    """An account of somebody who belongs nowhere yet; an operator belongs everywhere."""
    user = User(
        username=name or f"p-{secrets.token_hex(4)}", is_superuser=operator, is_staff=operator
    )
    if password is None:
        user.set_unusable_password()
    else:
        user.set_password(password)
    user.save()
    return user


def member(
    workspace: Workspace, role: str = Role.ADMIN, name: str = "", *, password: str | None = None
) -> User:
    """Somebody with a role in the workspace."""
    user = person(name, password=password)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def session_of(user: User) -> str:
    """The cookie's value of a session in which they are logged in."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies[settings.SESSION_COOKIE_NAME].value
