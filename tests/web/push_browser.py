"""A browser of Web Push (RFC 8291, RFC 8292): its keys, decryption, and the sender's proof.

Written from the RFCs, and not from ``agents.delivery.web_push``, which it checks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

P256 = ec.SECP256R1()


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _hkdf(salt: bytes, material: bytes, info: bytes, length: int) -> bytes:
    """One block of HKDF (RFC 5869), which is all that is needed."""
    extracted = hmac.new(salt, material, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()[:length]


@dataclass
class PushBrowser:
    """The keys that a browser made for a subscription."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(P256))
    auth: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def point(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def subscription(self, endpoint: str) -> dict[str, str]:
        return {"endpoint": endpoint, "p256dh": b64(self.point), "auth": b64(self.auth)}

    def decrypt(self, body: bytes) -> bytes:
        """The message in a body of one record (RFC 8188)."""
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= size
        shared = self.key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(P256, sender)
        )
        material = _hkdf(self.auth, shared, b"WebPush: info\0" + self.point + sender, 32)
        key = _hkdf(salt, material, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(salt, material, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert padded.endswith(b"\x02"), "not the last record"
        return padded[:-1]

    def shown(self, body: bytes) -> Any:
        return json.loads(self.decrypt(body))


def proven(authorization: str, audience: str) -> dict[str, Any]:
    """The claims of a sender, whose signature is that of the key that the header names."""
    scheme, _, rest = authorization.partition(" ")
    assert scheme == "vapid"
    given = dict(part.strip().split("=", 1) for part in rest.split(","))
    key = ec.EllipticCurvePublicKey.from_encoded_point(P256, unb64(given["k"]))
    claims: dict[str, Any] = jwt.decode(given["t"], key, algorithms=["ES256"], audience=audience)
    return claims | {"key": given["k"]}
