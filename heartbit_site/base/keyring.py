"""The keys that encrypt secrets: parsed from text, identified by short ids."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from heartbit_site.base.errors import ConfigurationError

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """One AES-256 key.

    Attributes:
        id: Prefix of every ciphertext: a digest of the key, the same on every machine, which does
            not reveal the key.
        raw: The key itself.
    """

    id: str
    raw: bytes = field(repr=False)


def parse_keys(texts: Iterable[str]) -> tuple[Key, ...]:
    """Parse keys in base64 (either alphabet), in the given order, without repetitions.

    Raises:
        ConfigurationError: A text is not a key, or there is no key. The text itself is not
            repeated.
    """
    keys: dict[str, Key] = {}
    for number, text in enumerate(texts, start=1):
        raw = _decode(text)
        if len(raw) != KEY_BYTES:
            raise ConfigurationError(
                f"Key {number} of HEARTBIT_ENCRYPTION_KEYS is not {KEY_BYTES} bytes in base64; "
                f"make one with: openssl rand -base64 {KEY_BYTES}"
            )
        key_id = hashlib.sha256(b"heartbit key id\0" + raw).hexdigest()[:8]
        keys.setdefault(key_id, Key(key_id, raw))
    if not keys:
        raise ConfigurationError(
            "HEARTBIT_ENCRYPTION_KEYS holds no key; unset it, or make one with: "
            f"openssl rand -base64 {KEY_BYTES}"
        )
    return tuple(keys.values())


def _decode(text: str) -> bytes:
    standard = text.strip().replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError:
        return b""
