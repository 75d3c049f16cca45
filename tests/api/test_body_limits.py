"""Bodies that are too large or too slow are refused before Django reads them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.conf import settings

from heartbit_site.web_server import bodies
from tests.api.raw import Raw
from tests.api.server import WebServer

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 1.0
HUGE = 10_000_000_000
ADDRESSES = [
    "/api/v1/inbound/nobody",
    "/api/v1/runs",
    "/api/",
    "/login/",
    "/admin/login/",
    "/static/x",
]
PIECE = b"10000\r\n" + b"x" * 65_536 + b"\r\n"


@pytest.fixture(scope="module")
def hasty(database: None) -> Iterator[WebServer]:
    """A server that waits for one second."""
    with WebServer(HEARTBIT_REQUEST_SECONDS=str(SECONDS)) as server:
        yield server
        assert "Traceback" not in server.log.read_text()


def is_problem(answer: bytes, status: int, code: str) -> bool:
    """Whether it is one of the API's own refusals."""
    head, _, body = answer.partition(b"\r\n\r\n")
    found = json.loads(body)
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), head
    assert b"content-type: application/problem+json" in head.lower()
    return (found["status"], found["code"]) == (status, code)


def spooled(server: WebServer) -> list[Path]:
    """The files without a name that a process writes to: where Django spools a body."""
    files = []
    for file in Path(f"/proc/{server.pid}/fd").iterdir():
        try:
            target = file.readlink()
        except FileNotFoundError:
            continue
        if str(target).endswith("(deleted)") and not str(target).startswith("/dev/"):
            files.append(target)
    return files


@pytest.mark.parametrize("path", ADDRESSES)
def test_given_a_length_over_the_limit_then_it_is_refused_and_no_byte_is_asked_for(
    web: WebServer, path: str
) -> None:
    with Raw(web) as raw:
        raw.head(f"POST {path}", f"Content-Length: {HUGE}", "Expect: 100-continue")
        answer = raw.answer()
    if path.startswith("/api/"):
        assert is_problem(answer, 413, "too_large")
    else:
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"content-type: text/plain" in answer.lower()


@pytest.mark.parametrize("path", ADDRESSES)
def test_given_a_body_without_a_length_then_reading_stops_at_the_limit_and_nothing_is_spooled(
    web: WebServer, path: str
) -> None:
    limit = bodies.limit_for(path)
    with Raw(web) as raw:
        raw.head(f"POST {path}", "Transfer-Encoding: chunked")
        for _ in range(limit // 65_536 + 1):
            raw.say(PIECE)
        assert b" 413 " in raw.answer()
        assert spooled(web) == []
        # What the kernel holds for both sides comes on top of what the server lets pass.
        assert raw.flood(PIECE, 100_000_000) < 50_000_000
        raw.heard()
    assert httpx.get(f"{web.url}/api/v1/health").status_code == 200


def test_no_limit_is_beyond_what_django_keeps_in_memory() -> None:
    limits = [limit for _, limit in bodies.LIMITS]
    assert max(*limits, bodies.OTHER_BYTES) <= settings.FILE_UPLOAD_MAX_MEMORY_SIZE
    assert max(*limits, bodies.OTHER_BYTES) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE


@pytest.mark.parametrize("path", ["/login/", "/admin/login/", "/api/v1/runs"])
def test_given_a_body_of_just_the_limit_then_it_reaches_django(web: WebServer, path: str) -> None:
    body = b"x" * bodies.limit_for(path)
    assert httpx.post(web.url + path, content=body).status_code in (401, 403)
    assert httpx.post(web.url + path, content=body + b"x").status_code == 413


def test_given_a_refused_body_that_ends_soon_then_the_connection_serves_on(web: WebServer) -> None:
    with httpx.Client(base_url=web.url) as client:
        for _ in range(3):
            assert client.post("/login/", content=b"x" * 100_000).status_code == 413
            assert client.get("/api/v1/health").status_code == 200


@pytest.mark.parametrize(
    "announced", ["Content-Length: 1000", "Transfer-Encoding: chunked"], ids=["length", "chunked"]
)
@pytest.mark.parametrize("path", ["/api/v1/inbound/nobody", "/login/"])
def test_given_a_body_that_stops_or_drips_then_the_client_is_cut_off(
    hasty: WebServer, path: str, announced: str
) -> None:
    drops = b"x" * 600 if "Length" in announced else b"1\r\nx\r\n" * 100
    for every in (SECONDS * 20, SECONDS / 20):
        with Raw(hasty) as raw:
            raw.head(f"POST {path}", announced)
            answer = raw.drip(drops, every=every)
        assert answer.startswith(b"HTTP/1.1 408 ")
        if path.startswith("/api/"):
            assert is_problem(answer, 408, "too_slow")


class Posting:
    """Requests to an application behind ``BodyLimits`` that may hold 100 bytes in all."""

    def __init__(self) -> None:
        self.served: list[int] = []
        self.limits = bodies.BodyLimits(self.application, seconds=30)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        self.served.append(len((await receive())["body"]))

    async def post(
        self, *pieces: bytes, address: str = "", rest: asyncio.Event | None = None
    ) -> int:
        """Send a body, the last piece of it once ``rest`` is set; the status, or 200 if served."""
        left = list(pieces)
        answers: list[Any] = []

        async def receive() -> dict[str, Any]:
            if rest is not None and len(left) == 1:
                await rest.wait()
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        async def send(message: Any) -> None:
            answers.append(message)

        client = (address, 1) if address else None
        scope: dict[str, Any] = {"path": "/api/v1/runs", "headers": [], "client": client}
        await self.limits(scope, receive, send)
        return answers[0]["status"] if answers else 200


@pytest.fixture
def posting(monkeypatch: pytest.MonkeyPatch) -> Posting:
    monkeypatch.setattr(bodies, "HELD_BYTES", 100)
    return Posting()


async def test_given_bodies_that_fill_the_memory_for_them_then_others_are_told_to_come_back(
    posting: Posting,
) -> None:
    rest = asyncio.Event()
    first = asyncio.create_task(posting.post(b"x" * 80, b"y" * 10, rest=rest))
    await asyncio.sleep(0)
    assert await posting.post(b"z" * 50) == 503
    rest.set()
    assert await first == 200
    assert await posting.post(b"z" * 50) == 200
    assert posting.served == [90, 50]


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [("192.0.2.1", "192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")],
)
async def test_given_a_client_that_holds_a_quarter_then_it_has_to_wait_and_others_do_not(
    posting: Posting, address: str, same: str, other: str
) -> None:
    rest = asyncio.Event()
    first = asyncio.create_task(posting.post(b"x" * 20, b"y", address=address, rest=rest))
    await asyncio.sleep(0)
    assert await posting.post(b"z" * 10, address=same) == 503
    assert await posting.post(b"z" * 20, address=other) == 200
    rest.set()
    assert await first == 200
    assert await posting.post(b"z" * 25, address=same) == 200
    assert await posting.post(b"z" * 26, address=other) == 503


async def test_given_a_trusted_proxy_then_it_has_no_share(
    posting: Posting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "HEARTBIT_TRUSTED_PROXIES", ("198.51.100.0/24",))
    assert await posting.post(b"z" * 90, address="198.51.100.7") == 200
    assert await posting.post(b"z" * 90, address="a name that was forwarded") == 503
