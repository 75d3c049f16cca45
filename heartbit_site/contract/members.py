"""Members of the workspace and their roles."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page, Word
from heartbit_site.contract.operation import MANAGE, Noun

#: As ``base.models.Role`` has them.
RoleName = Literal["viewer", "operator", "editor", "admin"]
Username = Annotated[Word, Field(description="User name.")]


class MemberOut(View):
    """A member."""

    username: str = Field(validation_alias=AliasPath("user", "username"))
    name: str = Field(description="The person's full name, if they gave one.")
    role: RoleName
    active: bool = Field(
        validation_alias=AliasPath("user", "is_active"),
        description="True if the account is active.",
    )
    since: Time = Field(validation_alias="created_at")


class MembersOut(Page):
    """The workspace's members; superusers belong to it without being listed."""

    members: list[MemberOut]


class MemberIn(Body):
    """A person to add to the workspace."""

    username: Annotated[Word, Field(min_length=1, max_length=150)]
    role: RoleName = "viewer"


class RoleIn(Body):
    """New role of a member."""

    role: RoleName


NOUN = Noun("members", read=MANAGE, write=MANAGE)

LIST_MEMBERS = NOUN.get("list_members", "/members", MembersOut, command="`heartbit users list`")
ADD_MEMBER = NOUN.post(
    "add_member", "/members", MemberOut, body=MemberIn, status=201, errors=(409,)
)
CHANGE_MEMBER = NOUN.patch(
    "change_member", "/members/{username}", MemberOut, "Change a member's role", body=RoleIn,
    errors=(409,),
)  # fmt: skip
REMOVE_MEMBER = NOUN.delete(
    "remove_member", "/members/{username}", "Remove a member", errors=(409,)
)
