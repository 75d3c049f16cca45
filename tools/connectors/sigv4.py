"""Signatures of AWS, version 4, for requests to S3-compatible storages.

The algorithm: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"


def quoted(text: str, *, safe: str = "") -> str:
    """Return a text in the percent-encoding that signatures need."""
    return quote(text, safe=f"{safe}-_.~")


def query_string(query: Mapping[str, str]) -> str:
    """Return a query in the order and the encoding that signatures need."""
    return "&".join(f"{quoted(name)}={quoted(value)}" for name, value in sorted(query.items()))


def sign(
    method: str,
    url: str,
    body: bytes,
    *,
    access_key: str,
    secret_key: str,
    region: str,
    headers: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> dict[str, str]:
    """Return a request's headers, signed for the service ``s3``.

    Args:
        method: Method in capitals.
        url: URL whose path is ``quoted`` and whose query is a ``query_string``.
        body: The body; empty: none.
        access_key: Id of the key.
        secret_key: The key.
        region: Region of the storage.
        headers: Further headers, names in lower case.
        now: Time of the request; None: now.
    """
    parts = urlsplit(url)
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    own = {"x-amz-content-sha256": digest, "x-amz-date": moment, **(headers or {})}
    signed = {"host": parts.netloc, **own}
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{' '.join(signed[name].split())}\n" for name in sorted(signed))
    request = "\n".join([method, parts.path or "/", parts.query, lines, names, digest])
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    text = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{secret_key}".encode()
    for step in (*scope.split("/"), text):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    credential = f"Credential={access_key}/{scope}"
    own["authorization"] = (
        f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={key.hex()}"
    )
    return own
