"""Secrets at rest: AES-256-GCM, bound to the column of the row that they were written for.

A stored secret is text, ``v1:<key id>:<base64 of nonce and ciphertext>``. The table, the column,
the workspace and the row are authenticated with it, so a ciphertext that is copied to another row
or tenant cannot be read there. The first key of ``settings.HEARTBIT_ENCRYPTION_KEYS`` encrypts and
all of them decrypt; ``manage.py rotate_secrets`` moves every row to the first.

Usage, with a model that has a ``workspace`` and a ``SecretTextField``::

    account.save()                                     # the row needs its id first
    secrets.store(account, "secret", key)
    key = secrets.reveal(account, "secret")
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db.models import Model

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.keyring import Key, parse_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = "v1"
NONCE_BYTES = 12


class SecretError(HeartbitError):
    """A stored secret cannot be read; the sentence says why and names the row, never the secret."""


@dataclass(frozen=True, slots=True)
class SecretLocation:
    """The column and row that a ciphertext is bound to; it cannot be decrypted for any other."""

    table: str
    column: str
    workspace_id: int
    row_id: int | UUID

    @property
    def associated_data(self) -> bytes:
        """Data authenticated with the ciphertext; JSON, so that no two locations look alike."""
        parts = [VERSION, self.table, self.column, str(self.workspace_id), str(self.row_id)]
        return json.dumps(parts).encode()

    def __str__(self) -> str:
        return f"{self.table}.{self.column} of row {self.row_id}"


def place_of(row: Model, column: str) -> SecretLocation:
    """Return the location of a saved row's column.

    Raises:
        ValueError: The row has no id yet.
    """
    owned: Any = row
    if owned.pk is None or owned.workspace_id is None:
        raise ValueError("a row needs its id and its workspace before it can keep a secret")
    return SecretLocation(owned._meta.db_table, column, owned.workspace_id, owned.pk)


def seal(row: Model, column: str, text: str) -> str:
    """Encrypt a secret for ``column`` of ``row``; return the text to store."""
    return encrypt(text, place_of(row, column))


def store(row: Model, column: str, text: str) -> None:
    """Encrypt a secret into ``column`` of a saved row, and save the column; empty: delete it."""
    setattr(row, column, seal(row, column, text) if text else "")
    row.save(update_fields=[column])


def reveal(row: Model, column: str) -> str:
    """Return the secret stored in ``column`` of ``row``; empty when there is none.

    Raises:
        SecretError: See ``decrypt``.
    """
    stored: str = getattr(row, column)
    return decrypt(stored, place_of(row, column)) if stored else ""


def encrypt(text: str, place: SecretLocation) -> str:
    """Encrypt a secret with the newest key and a fresh nonce; return its stored form.

    Raises:
        ConfigurationError: The installation's keys cannot be used.
    """
    key = keyring()[0]
    nonce = os.urandom(NONCE_BYTES)
    sealed = _cipher(key).encrypt(nonce, text.encode(), place.associated_data)
    return f"{VERSION}:{key.id}:{base64.b64encode(nonce + sealed).decode()}"


def decrypt(stored: str, place: SecretLocation) -> str:
    """Decrypt a stored form.

    Raises:
        SecretError: Its key is not among the installation's, it was written for another place, or
            it is not a stored secret at all.
        ConfigurationError: The installation's keys cannot be used.
    """
    version, _, rest = stored.partition(":")
    wanted, _, body = rest.partition(":")
    try:
        raw = base64.b64decode(body, validate=True)
    except ValueError:
        raw = b""
    if version != VERSION or len(raw) <= NONCE_BYTES:
        raise SecretError(f"The secret in {place} has an unknown format; enter it again.")
    key = next((key for key in keyring() if key.id == wanted), None)
    if key is None:
        raise SecretError(
            f"The secret in {place} was encrypted with key {wanted[:8]}, which is missing here; "
            "every machine needs the same HEARTBIT_ENCRYPTION_KEYS. Add that key, or enter the "
            "secret again."
        )
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415  see _cipher

    try:
        text = _cipher(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.associated_data)
    except InvalidTag:
        raise SecretError(
            f"The secret in {place} was changed or belongs to another row; enter it again."
        ) from None
    return text.decode()


def prefixes() -> tuple[str, ...]:
    """Return the prefix of the stored forms that each key encrypted, newest key first."""
    return tuple(f"{VERSION}:{key.id}:" for key in keyring())


def keyring() -> tuple[Key, ...]:
    """Return the installation's keys, newest first; read each time, so a rotation needs no restart.

    Raises:
        ConfigurationError: The keys cannot be used.
    """
    return parse_keys(settings.HEARTBIT_ENCRYPTION_KEYS())


def _cipher(key: Key) -> AESGCM:
    # Imported when first needed: it costs 50 ms, and most processes never use a secret.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(key.raw)
