"""The class of people's accounts: Django's, or the one that a project's AUTH_USER_MODEL names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db import connection
from django.db.models import AutoField

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from django.contrib.auth.models import User
else:
    User = get_user_model()

__all__ = ["User", "check_class", "with_accounts"]

_DJANGO: Final = "auth.User"
_TABLES: Final = re.compile(r"\bauth_user(_groups)?\b")


def check_class() -> None:
    """Refuse a class of accounts without what Heartbit reads of one.

    Raises:
        ConfigurationError: It is no ``AbstractUser`` with a user name and an integer key ``id``.
    """
    key: Any = User._meta.pk
    has_key = key.name == "id" and isinstance(key, AutoField)
    if not (issubclass(User, AbstractUser) and has_key and User.USERNAME_FIELD == "username"):
        raise ConfigurationError(
            f"AUTH_USER_MODEL is {settings.AUTH_USER_MODEL!r}, which Heartbit cannot use: make the "
            "class a subclass of django.contrib.auth.models.AbstractUser with an integer `id` that "
            "logs in by `username`, or run Heartbit beside the project, as "
            "docs/howto/existing-project.md says."
        )


def with_accounts(sql: str) -> str:
    """Return SQL that names Django's tables of accounts with the tables of this project's."""
    if settings.AUTH_USER_MODEL == _DJANGO:
        return sql
    groups: Any = User._meta.get_field("groups")
    quote = connection.ops.quote_name
    person, group = quote(groups.m2m_column_name()), quote(groups.m2m_reverse_name())
    columns = f"{person} AS user_id, {group} AS group_id"
    links = f"(SELECT {columns} FROM {quote(groups.m2m_db_table())})"  # noqa: S608  our names
    accounts = quote(User._meta.db_table)
    return _TABLES.sub(lambda found: links if found[1] else accounts, sql)
