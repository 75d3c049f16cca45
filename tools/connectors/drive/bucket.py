"""Drive in a bucket of an S3-compatible storage, over the guarded client.

``obstore``, ``boto3`` and ``django-storages`` are not used: the guard against internal addresses
cannot check their HTTP clients, and a drive needs only three signed requests (AWS Signature Version
4): https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tools.connectors.drive import files as drive
from tools.connectors.service import parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    import httpx

    from heartbit_site.base.credentials import S3Credential

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
    signature = _signature(secret_key, scope, text)
    credential = f"Credential={access_key}/{scope}"
    own["authorization"] = (
        f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
    )
    return own


def _signature(secret_key: str, scope: str, text: str) -> str:
    key = f"AWS4{secret_key}".encode()
    for step in (*scope.split("/"), text):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return key.hex()


_NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"
_MD5 = re.compile(r"[0-9a-f]{32}")
_SIZE = re.compile(r"[0-9]{1,15}")
_CODE = re.compile(rb"<Code>([A-Za-z]{1,60})</Code>")
_OK, _NOT_FOUND, _CONFLICT, _PRECONDITION_FAILED = 200, 404, 409, 412


class BucketDrive:
    """Implementation of ``Drive`` for one bucket, addressed by path."""

    def __init__(self, http: httpx.AsyncClient, storage: S3Credential) -> None:
        self._http = http
        self._storage = storage

    async def entries(self, folder: str) -> list[drive.FileEntry]:
        """Return the files below a folder; see ``Drive``."""
        folder = drive.checked_folder(folder)
        query = {"list-type": "2", "prefix": f"{folder}/" if folder else "", "max-keys": "1000"}
        found: list[drive.FileEntry] = []
        for _ in range(drive.MAX_FILES // 1_000):
            answer = await self._send("GET", "", query=query)
            if answer.status_code != _OK:
                raise self._refused(answer)
            root = parse_xml(answer.content)
            rows = [_entry(_texts(row)) for row in root.iter(f"{_NAMESPACE}Contents")]
            found += [row for row in rows if row is not None]
            token = root.findtext(f"{_NAMESPACE}NextContinuationToken")
            if not token:
                break
            query["continuation-token"] = token
        return sorted(found, key=lambda entry: entry.name)[: drive.MAX_FILES]

    async def read(self, name: str) -> bytes:
        """Return a file's content; see ``Drive``."""
        data = await self._read(drive.checked_name(name))
        if data is None:
            raise drive.missing(name)
        return data

    async def write(self, name: str, data: bytes, *, replace: bool) -> None:
        """Write a file with one request; see ``Drive``."""
        name = drive.checked_name(name)
        if len(data) > drive.MAX_FILE_BYTES:
            raise drive.too_large(name)
        headers = {"content-type": "application/octet-stream"}
        if not replace:
            present = await self._read(name)
            if present is not None:
                if present != data:
                    raise drive.exists(name)
                return
            headers["if-none-match"] = "*"  # the file may have been written meanwhile
        answer = await self._send("PUT", name, body=data, headers=headers)
        if answer.status_code in (_CONFLICT, _PRECONDITION_FAILED):
            raise drive.exists(name)
        if answer.status_code != _OK:
            raise self._refused(answer)
        etag = answer.headers.get("etag", "").strip('"')
        plain = _MD5.fullmatch(etag) and "x-amz-server-side-encryption" not in (answer.headers)
        if plain and etag != hashlib.md5(data, usedforsecurity=False).hexdigest():
            raise drive.DriveError(f"{name} was stored incompletely: write it again with replace.")

    async def check(self) -> None:
        """List one file; raise as ``entries`` does."""
        answer = await self._send("GET", "", query={"list-type": "2", "max-keys": "1"})
        if answer.status_code != _OK:
            raise self._refused(answer)

    async def _read(self, name: str) -> bytes | None:
        answer = await self._send("GET", name)
        if answer.status_code == _NOT_FOUND and _code(answer) != "NoSuchBucket":
            return None
        if answer.status_code != _OK:
            raise self._refused(answer)
        return answer.content

    async def _send(
        self,
        method: str,
        name: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        storage = self._storage
        path = f"{quoted(storage.bucket)}/{quoted(name, safe='/')}".rstrip("/")
        url = f"{storage.url.rstrip('/')}/{path}"
        if query:
            url = f"{url}?{query_string(query)}"
        signed = sign(
            method,
            url,
            body,
            access_key=storage.access_key,
            secret_key=storage.secret_key.get_secret_value(),
            region=storage.region,
            headers=headers,
        )
        # A redirect would send a signature that is not valid for the new address.
        return await self._http.request(
            method, url, content=body, headers=signed, follow_redirects=False
        )

    def _refused(self, answer: httpx.Response) -> drive.DriveError:
        bucket, code = self._storage.bucket, _code(answer)
        return drive.DriveError(
            f"The storage refused the request for the bucket {bucket} "
            f"(HTTP {answer.status_code}{f', {code}' if code else ''}): check the credential."
        )


def _code(answer: httpx.Response) -> str:
    found = _CODE.search(answer.content[:4_000])
    return found[1].decode() if found else ""


def _texts(row: Element) -> dict[str, str]:
    return {child.tag.removeprefix(_NAMESPACE): child.text or "" for child in row}


def _entry(row: Mapping[str, str]) -> drive.FileEntry | None:
    """Return a listed file; None if agents could not name it."""
    name, size = row.get("Key", ""), row.get("Size", "")
    if not drive.is_name(name) or not _SIZE.fullmatch(size):
        return None
    try:
        modified = datetime.fromisoformat(row.get("LastModified", ""))
    except ValueError:
        modified = datetime.fromtimestamp(0, UTC)
    return drive.FileEntry(name, int(size), modified)
