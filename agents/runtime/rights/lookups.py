"""Lookups of a run's toolbox: its person, its approvals and its data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heartbit_site.base.toolspec import ToolSpec

if TYPE_CHECKING:
    from tools.credentials.choice import ChosenCredential

#: Returns the standing permission for a tool by its name and pinned hash, if there is one.
GrantLookup = Callable[[str, str], Awaitable[int | None]]
#: Chooses the credentials of a call by the names in its binding; raises HeartbitError.
CredentialLookup = Callable[
    [ToolSpec, Mapping[str, str]], Awaitable["Mapping[str, ChosenCredential]"]
]
#: Returns the person that the run acts for now; None: no one.
PersonLookup = Callable[[], Awaitable[int | None]]
#: Returns the subset of some permissions that the person behind the run has.
PermissionLookup = Callable[[frozenset[str]], Awaitable[frozenset[str]]]
#: Returns why a call needs an approval because of the data that the run tree has read, or None.
MixedDataRule = Callable[[ToolSpec], Awaitable[str | None]]
#: Returns the approver who decided the wait of that key and has lost the right to decide.
RevokedRightLookup = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class CallLookups:
    """Lookups of one run.

    Attributes:
        granted: Looks up a standing permission.
        lost: Looks up an approver who lost the right to decide.
        credentials: Chooses the credentials of a call.
        permissions: Looks up the permissions of the person behind the run.
        person: Looks up the person that the run acts for.
        mixed: Looks up why a call that sends data out needs an approval.
    """

    granted: GrantLookup
    lost: RevokedRightLookup
    credentials: CredentialLookup
    permissions: PermissionLookup
    person: PersonLookup
    mixed: MixedDataRule
