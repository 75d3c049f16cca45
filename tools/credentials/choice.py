"""Choice of the stored credentials for a call.

Among credentials of a matching type, the one named by the agent's binding is used; a person's own
precedes the workspace's of the same name. Without a name in the binding, it is the person's only
one, else the workspace's only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q

from heartbit_site.base.credentials import CredentialNeed, CredentialType, credential_types
from heartbit_site.base.errors import HeartbitError
from tools.credentials.values import reveal
from tools.models import Credential

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import ToolSpec


class NoCredentialError(HeartbitError):
    """A call lacks a credential, or several match."""


@dataclass(frozen=True, slots=True)
class ChosenCredential:
    """A credential that a call uses.

    Attributes:
        id: Id of its row; an approval's digest covers it.
    """

    id: int
    name: str
    value: CredentialType


def choose(
    spec: ToolSpec, *, workspace_id: int, user_id: int | None, names: Mapping[str, str]
) -> dict[str, ChosenCredential]:
    """Return the credentials of a call, by parameter; an optional one may be missing.

    Args:
        spec: The tool.
        workspace_id: The run's workspace.
        user_id: The person behind the run, whose own credentials may be used; None if there is
            none.
        names: Names that the agent's binding gives, by parameter.

    Raises:
        NoCredentialError: No credential matches, or several do.
        ConfigurationError: The chosen credential's stored value is not usable.
        SecretError: Its secrets cannot be decrypted.
    """
    if not spec.credentials:
        return {}
    kinds = {kind for need in spec.credentials for kind in need.kinds}
    rows = list(
        Credential.objects.filter(
            Q(user=None) if user_id is None else Q(user=None) | Q(user_id=user_id),
            workspace_id=workspace_id,
            kind__in=kinds,
            enabled=True,
        )
    )
    chosen = {}
    for need in spec.credentials:
        row = _choose(spec.name, need, rows, names.get(need.parameter, need.name))
        if row is not None:
            chosen[need.parameter] = ChosenCredential(row.pk, row.name, reveal(row))
    return chosen


def unmet_need(spec: ToolSpec, *, workspace_id: int, names: Mapping[str, str]) -> str:
    """Return a sentence about a credential that the workspace lacks; empty if none is missing.

    Args:
        spec: The tool.
        workspace_id: The workspace.
        names: Names that the agent's binding gives, by parameter.
    """
    needs = [need for need in spec.credentials if not need.optional]
    if not needs:
        return ""
    rows = Credential.objects.filter(workspace_id=workspace_id, enabled=True)
    known = list(rows.values_list("kind", "name"))
    for need in needs:
        name = names.get(need.parameter, need.name)
        if not any(kind in need.kinds and name in ("", own) for kind, own in known):
            return str(_missing(spec.name, need, name))
    return ""


def _choose(
    tool: str, need: CredentialNeed, rows: Sequence[Credential], name: str
) -> Credential | None:
    fitting = [row for row in rows if row.kind in need.kinds and name in ("", row.name)]
    own = [row for row in fitting if row.user_id is not None]
    for found in (own, fitting):
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(row.name for row in found)
            raise NoCredentialError(
                f"{tool} could use several credentials ({names}): choose one in the agent's tools."
            )
    if need.optional and not name:
        return None
    raise _missing(tool, need, name)


def _missing(tool: str, need: CredentialNeed, name: str) -> NoCredentialError:
    if need.remedy:
        return NoCredentialError(need.remedy)
    if name:
        return NoCredentialError(
            f"{tool} needs the credential {name!r}, which the workspace does not have or has "
            "disabled: add it under Credentials, or choose another in the agent's tools."
        )
    labels = {kind: known.label for kind, known in credential_types().items()}
    wanted = " or ".join(labels.get(kind, kind) for kind in need.kinds)
    return NoCredentialError(
        f"{tool} needs a credential that the workspace does not have: add one of the type "
        f"{wanted} under Credentials in the admin, or with `heartbit credentials add`."
    )
