"""Values of stored credentials: settings and secrets as one object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import SecretStr, ValidationError

from heartbit_site.base import secrets
from heartbit_site.base.credentials import CredentialType, credential_types
from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from tools.models import Credential


def type_of(kind: str) -> type[CredentialType]:
    """Return the type of a kind of credential.

    Raises:
        ConfigurationError: No installed package defines it.
    """
    known = credential_types()
    if kind not in known:
        raise ConfigurationError(
            f"There is no type of credential {kind!r}; the types are: {', '.join(known)}."
        )
    return known[kind]


def reveal(row: Credential) -> CredentialType:
    """Return the value of a stored credential.

    Raises:
        ConfigurationError: Its type is not installed, or no longer matches the stored fields.
        SecretError: The secrets cannot be decrypted.
    """
    kept = secrets.reveal(row, "secret")
    fields = {**row.settings, **(json.loads(kept) if kept else {})}
    kind = type_of(row.kind)
    if "row_id" in kind.model_fields:
        fields["row_id"] = row.pk
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        names = ", ".join(str(problem["loc"][0]) for problem in error.errors() if problem["loc"])
        raise ConfigurationError(
            f"The credential {row.name} has no usable {names or 'value'}: enter it again."
        ) from None


def split(value: CredentialType) -> tuple[dict[str, object], dict[str, str]]:
    """Return the fields of a value that people may see, and its secrets."""
    hidden = value.secret_fields()
    shown: Mapping[str, object] = value.model_dump(mode="json", exclude=set(hidden))
    own = {name: getattr(value, name) for name in hidden}
    return dict(shown), {
        name: each.get_secret_value() for name, each in own.items() if isinstance(each, SecretStr)
    }


def label_of(kind: str) -> str:
    """Return the label of a kind; for an unknown kind, the kind itself."""
    known = credential_types().get(kind)
    return kind if known is None else known.label
