"""`heartbit members`: people of a workspace, and their roles."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import members as contract

TABLE: Final = Table.of(
    contract.MemberOut,
    "MEMBER=username:40 ROLE STATE NAME=name:40|- SINCE",
    styles={"active": "green", "closed": "dim"},
    none="No members yet: `heartbit members add USERNAME` adds one; superusers need no membership.",
    STATE=lambda one: "active" if one.active else "closed",
)

app = common.group()
MEMBERS: Final = Verbs(app, "member", contract.LIST_MEMBERS, TABLE)

MEMBERS.list("List the members and their roles; superusers belong to it without being listed.")
MEMBERS.do("me", contract.SHOW_ME, "Show the person or key that commands act for, with the rights.")
MEMBERS.do(
    "add",
    contract.ADD_MEMBER,
    "Add a person who has an account: `heartbit users create` makes one.",
    first=("username",),
    said="{username} is a member as {role} now.",
)
MEMBERS.do(
    "role",
    contract.CHANGE_MEMBER,
    "Give a member another role: viewer, operator, editor or admin.",
    first=("role",),
    said="{username} has the role {role} now, and so have their keys.",
)
MEMBERS.remove(
    contract.REMOVE_MEMBER,
    "Remove a member and their keys for the workspace; the account stays.",
    goes="their keys for the workspace",
    stays="the account and what the person made stay",
)
