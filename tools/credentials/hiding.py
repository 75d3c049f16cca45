"""Removal of secrets from texts sent by servers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from pydantic import SecretStr

if TYPE_CHECKING:
    from heartbit_site.base.credentials import CredentialType

HIDDEN = "[secret]"
_SHORTEST = 4  # a shorter text would match everywhere


def hide_secrets(text: str, *credentials: CredentialType | None, also: tuple[str, ...] = ()) -> str:
    """Replace the secrets of credentials in a text, as a server may repeat them.

    Args:
        text: Any text.
        credentials: Credentials that were used.
        also: Further secrets, such as an access token.
    """
    secrets = [each for one in credentials if one is not None for each in _secrets(one)]
    forms = {
        form for secret in (*secrets, *also) if len(secret) >= _SHORTEST for form in _forms(secret)
    }
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _secrets(credential: CredentialType) -> Iterator[str]:
    user = str(getattr(credential, "username", ""))
    for name in credential.secret_fields():
        value = getattr(credential, name)
        if isinstance(value, SecretStr) and value.get_secret_value():
            yield value.get_secret_value()
            yield base64.b64encode(f"{user}:{value.get_secret_value()}".encode()).decode()


def _forms(secret: str) -> Iterator[str]:
    """Yield the spellings of a secret in a text, JSON, a URL, and a header."""
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield secret.replace("\\", "\\\\").replace('"', '\\"')
    yield base64.b64encode(secret.encode()).decode()
