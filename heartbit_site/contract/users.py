"""Users: accounts of people in the installation, which only operators see all of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.members import RoleName
from heartbit_site.contract.model import Body, Page, Word
from heartbit_site.contract.operation import Noun
from heartbit_site.contract.workspaces import ADMINISTER

Password = Annotated[str, Field(min_length=1, max_length=200)]


class UserOut(View):
    """An account."""

    name: str = Field(description="The name that the person logs in with.")
    email: str
    state: Literal["active", "closed"]
    rights: list[str] = Field(
        description="Roles by workspace, such as `default: viewer`, or `superuser`."
    )
    last_login: Time | None


class UsersOut(Page):
    """The accounts of the installation, by name."""

    users: list[UserOut]


class UserIn(Body):
    """An account to create."""

    name: Annotated[Word, Field(max_length=150)] = Field(
        description="The name that the person logs in with."
    )
    password: Password = Field(description="First password; it is never returned.")
    email: Annotated[Word, Field(max_length=200)] = Field("", description="Address for mails.")
    role: RoleName = Field("viewer", description="Role in the caller's workspace.")
    superuser: bool = Field(
        default=False,
        description="Every right in every workspace, without a role; on the command line of the "
        "installation alone.",
    )


class PasswordIn(Body):
    """A new password."""

    password: Password


NOUN = Noun("users", read=ADMINISTER, write=ADMINISTER)

LIST_USERS = NOUN.get("list_users", "/fleet/users", UsersOut, command="`heartbit users list`")
CREATE_USER = NOUN.post(
    "create_user", "/fleet/users", UserOut, body=UserIn, status=201, errors=(409,)
)
SET_PASSWORD = NOUN.post(
    "set_password", "/fleet/users/{account}/password", UserOut, "Set a user's password",
    body=PasswordIn,
)  # fmt: skip
