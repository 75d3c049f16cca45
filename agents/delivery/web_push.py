"""Messages of Web Push: encryption for one browser (RFC 8291), and the sender's proof (RFC 8292).

The primitives are those of `cryptography` and `pyjwt`, which are required anyway: the packages that
wrap them bring an HTTP client of their own, or have no wheel.
"""

from __future__ import annotations

import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

SALT_BYTES: Final = 16
SECRET_BYTES: Final = 16
_RECORD_BYTES: Final = 4096  # more than any message: each is one record
_LAST: Final = b"\x02"  # ends the last record
_VALID_SECONDS: Final = 12 * 3600  # push services take at most 24 hours


def new_key() -> tuple[str, str]:
    """Return a new private key in PEM, and its public point in base64url."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return pem, to_base64url(_point(key))


def check_keys(public: str, secret: str) -> None:
    """Check the keys of a browser.

    Raises:
        ValueError: They are no point of P-256 and 16 bytes, in base64url.
    """
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), from_base64url(public))
    if len(from_base64url(secret)) != SECRET_BYTES:
        raise ValueError(f"the secret has not {SECRET_BYTES} bytes")


def encrypt(
    message: bytes,
    public: str,
    secret: str,
    *,
    key: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes = b"",
) -> bytes:
    """Encrypt a message for a browser; return the body of the request (``aes128gcm``).

    Args:
        message: At most 3,993 bytes.
        public: The browser's public point, in base64url.
        secret: The browser's secret, in base64url.
        key: Key of this message alone; None: a new one.
        salt: Salt of this message alone; empty: a new one.

    Raises:
        ValueError: The browser's keys are none.
    """
    theirs = from_base64url(public)
    receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs)
    key = key or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(SALT_BYTES)
    mine = _point(key)
    shared = key.exchange(ec.ECDH(), receiver)
    info = b"WebPush: info\0" + theirs + mine
    material = _derived(shared, from_base64url(secret), info, 32)
    content_key = _derived(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(material, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(content_key).encrypt(nonce, message + _LAST, None)
    return salt + _RECORD_BYTES.to_bytes(4) + bytes([len(mine)]) + mine + sealed


def authorization(endpoint: str, pem: str, public: str, *, contact: str) -> str:
    """Return the header by which a push service knows the sender.

    Args:
        endpoint: URL of the browser at the service.
        pem: The installation's private key.
        public: Its public point, in base64url.
        contact: URL (``https:`` or ``mailto:``) of who runs the installation.
    """
    parts = urlsplit(endpoint)
    expires = int(time.time()) + _VALID_SECONDS
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": expires, "sub": contact}
    return f"vapid t={jwt.encode(claims, pem, algorithm='ES256')}, k={public}"


def to_base64url(raw: bytes) -> str:
    """Return bytes in base64url without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the bytes of base64url, with or without padding.

    Raises:
        ValueError: It is not base64url.
    """
    return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))


def _derived(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(material)


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
