"""S1: no request leaves the public internet, whatever the URL, the resolver or the server says."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpcore
import httpx
import pytest

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.http.allow import AddressPolicy, parse_allow
from heartbit_site.base.http.backend import GuardedBackend, system_resolver
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.http.errors import BlockedAddressError, OutboundLimitError
from tests.base.loopback import Server, redirect, response, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

PUBLIC = "93.184.215.14"
NAMES = {
    "public.example": ["127.0.0.1"],  # reachable only where a test opens it by name
    "internal.example": ["127.0.0.1"],
    "mixed.example": [PUBLIC, "127.0.0.1"],
    "mixed-first.example": ["10.0.0.1", PUBLIC],
    "mixed-six.example": [PUBLIC, "::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "scoped.example": ["fe80::1%eth0"],
    "metadata.example": ["169.254.169.254"],
    "none.example": [],
}
VECTORS = Path(__file__).with_name("ssrf_vectors.txt").read_text(encoding="utf-8").splitlines()
HOSTS = [line for line in VECTORS if line and not line.startswith(("#", "url "))]
ODD_URLS = [
    line.removeprefix("url ").encode().decode("unicode_escape")
    for line in VECTORS
    if line.startswith("url ")
]
REFUSALS = (BlockedAddressError, httpx.UnsupportedProtocol, httpx.ConnectError)


async def resolver(host: str, port: int) -> Sequence[str]:
    if host.lower() in NAMES:
        return NAMES[host.lower()]
    return await system_resolver(host, port)


def client(*ports: int, allow: Iterable[str] = (), **limits: float) -> httpx.AsyncClient:
    """A client for which a port is no obstacle: what stops a request is the address alone."""
    rules = parse_allow(",".join(allow))
    return GuardedClient(allow=rules, ports={80, 443, *ports}, resolver=resolver, **limits)  # type: ignore[arg-type]


@pytest.fixture
async def internal() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@pytest.fixture
async def public() -> AsyncIterator[Server]:
    """Stands for a public server: its own name is on the allow-list, its address is not."""
    async with serving() as server:
        yield server


async def test_no_vector_reaches_the_internal_server(internal: Server) -> None:
    assert len(HOSTS) + len(ODD_URLS) >= 60
    async with client(internal.port) as http:
        for host in HOSTS:
            with pytest.raises(BlockedAddressError):
                await http.get(f"http://{host}:{internal.port}/")
        for url in ODD_URLS:
            with pytest.raises(REFUSALS):
                await http.get(url.format(port=internal.port))
    assert internal.connections == 0


async def test_no_vector_passes_the_connect_check_by_itself() -> None:
    """Httpx's parser refuses some hosts on its own; the guard must not depend on that."""
    recorder = Recorder()
    backend = GuardedBackend(AddressPolicy(), resolver=resolver, inner=recorder)
    blocked = 0
    for host in HOSTS:
        try:
            await backend.connect_tcp(host.strip("[]"), 80)
        except BlockedAddressError:
            blocked += 1
        except httpcore.ConnectError:
            assert not host.isascii()  # such a name has to be encoded before it is resolved
    assert recorder.addresses == []
    assert blocked >= 80


@pytest.mark.parametrize("port", [22, 25, 5432, 6379, 8080, 65535])
async def test_other_ports_are_closed_even_on_public_hosts(port: int) -> None:
    async with client() as http:
        with pytest.raises(
            BlockedAddressError, match=f"Port {port} of {re.escape(PUBLIC)} is closed"
        ):
            await http.get(f"http://{PUBLIC}:{port}/")


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "http://internal.example:{port}/",
        "//internal.example:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://2130706433:{port}/",
        "http://public.example@127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:{port}/_x",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 T", "308 P"])
async def test_redirects_are_checked_like_first_hops(
    public: Server, internal: Server, location: str, status: str
) -> None:
    public.answers["/"] = redirect(location.format(port=internal.port), status)
    allow = [f"public.example:{public.port}"]
    async with client(internal.port, allow=allow) as http:
        with pytest.raises(BlockedAddressError):
            await http.post(f"http://public.example:{public.port}/", content=b"body")
    assert (len(public.requests), internal.connections) == (1, 0)


async def test_proxies_of_the_environment_are_ignored(
    internal: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{internal.port}")
    async with client() as http:
        with pytest.raises(BlockedAddressError):
            await http.get("http://internal.example/")
    assert internal.connections == 0


class Recorder(httpcore.AsyncNetworkBackend):
    """Opens loopback sockets for real, and pretends that public ones open too."""

    def __init__(self, peer: str | None = None) -> None:
        self.addresses: list[str] = []
        self.streams: list[Stream] = []
        self._peer = peer

    async def connect_tcp(self, host: str, *args: object, **kwargs: object) -> Stream:
        self.addresses.append(host)
        self.streams.append(Stream(self._peer or host))
        return self.streams[-1]


class Stream(httpcore.AsyncNetworkStream):
    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.closed = False

    def get_extra_info(self, info: str) -> object:
        return (self.peer, 80) if info == "server_addr" else None

    async def aclose(self) -> None:
        self.closed = True


async def test_rebinding_never_connects_to_an_unchecked_address() -> None:
    answers = itertools.cycle(([PUBLIC], ["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["::1"]))
    asked = 0

    async def rebinding(_host: str, _port: int) -> Sequence[str]:
        nonlocal asked
        asked += 1
        return next(answers)

    recorder = Recorder()
    backend = GuardedBackend(AddressPolicy(), resolver=rebinding, inner=recorder)
    blocked = 0
    for _ in range(1_000):
        try:
            await backend.connect_tcp("rebind.example", 80)
        except BlockedAddressError:
            blocked += 1
    assert set(recorder.addresses) == {PUBLIC}
    assert asked == 1_000  # once a connect: what was checked is what was used
    assert (blocked, len(recorder.addresses)) == (750, 250)


async def test_a_connection_that_ends_elsewhere_is_closed() -> None:
    recorder = Recorder(peer="127.0.0.1")
    backend = GuardedBackend(AddressPolicy(), resolver=resolver, inner=recorder)
    with pytest.raises(BlockedAddressError, match="another address"):
        await backend.connect_tcp(PUBLIC, 80)
    assert recorder.streams[0].closed


async def test_unix_sockets_are_closed() -> None:
    with pytest.raises(BlockedAddressError, match="Unix sockets"):
        await GuardedBackend(AddressPolicy()).connect_unix_socket("/var/run/docker.sock")


@pytest.mark.parametrize(
    "rule",
    [
        "127.0.0.1/32:{port}",
        "127.0.0.0/8:*",
        "internal.example:{port}",
        "127.0.0.1:{port}",
        "127.0.0.1",
    ],
)
async def test_the_allow_list_opens_what_it_names(internal: Server, rule: str) -> None:
    allow = [rule.format(port=internal.port)]
    async with client(*([internal.port] if ":" not in rule else []), allow=allow) as http:
        answer = await http.get(f"http://internal.example:{internal.port}/")
    assert (answer.status_code, answer.text) == (200, "secret")


@pytest.mark.parametrize(
    "rule", ["127.0.0.1/32:1", "127.0.0.2/32:*", "other.example:*", "nal.example:*", "127.0.0.1"]
)
async def test_the_allow_list_opens_nothing_else(internal: Server, rule: str) -> None:
    async with client(allow=[rule]) as http:
        with pytest.raises(BlockedAddressError):
            await http.get(f"http://internal.example:{internal.port}/")
    assert internal.connections == 0


async def test_nobody_learns_where_an_internal_name_leads() -> None:
    async with client() as http:
        with pytest.raises(BlockedAddressError) as caught:
            await http.get("http://metadata.example/")
    assert "169.254" not in str(caught.value)
    assert "HEARTBIT_HTTP_ALLOWLIST" in str(caught.value)


def test_allow_text_is_read() -> None:
    rules = parse_allow("wiki.internal:8080, 10.1.0.0/16\n[fd00::/8]:443 127.0.0.1:* [::1]")
    assert [(str(rule.target), rule.port) for rule in rules] == [
        ("wiki.internal", 8080),
        ("10.1.0.0/16", None),
        ("fd00::/8", 443),
        ("127.0.0.1/32", "*"),
        ("::1/128", None),
    ]
    assert parse_allow("") == ()


@pytest.mark.parametrize(
    "text",
    [
        *("10.1.0.0/33", "10.1.2.3/8", "300.1.1.1", "fd00::/8", "host:0", "host:70000", "host:x"),
        *("http://host", "ho st:", "a:b:c", "*", "[host", "[]:80", ":80", "-host", "10.0.0.0/8/8"),
    ],
)
def test_a_wrong_allow_text_is_refused_with_its_entry(text: str) -> None:
    with pytest.raises(ConfigurationError, match="HEARTBIT_HTTP_ALLOWLIST"):
        parse_allow(text)


async def test_five_redirects_are_followed_and_a_sixth_is_not(public: Server) -> None:
    for number in range(6):
        public.answers[f"/{number}"] = redirect(f"/{number + 1}")
    public.answers["/loop"] = redirect("/loop")
    base = f"http://public.example:{public.port}"
    async with client(allow=[f"public.example:{public.port}"]) as http:
        answer = await http.get(f"{base}/1")
        assert (answer.text, len(answer.history)) == ("secret", 5)
        with pytest.raises(OutboundLimitError, match="5 redirects"):
            await http.get(f"{base}/0")
        with pytest.raises(OutboundLimitError):
            await http.get(f"{base}/loop")
        assert (await http.get(f"{base}/0", follow_redirects=False)).status_code == 302


async def test_secrets_stay_with_their_origin(public: Server, internal: Server) -> None:
    there = f"http://internal.example:{internal.port}/"
    public.answers["/"] = redirect(there, "307 Temporary Redirect")
    public.answers["/same"] = redirect("/other")
    allow = [f"public.example:{public.port}", f"internal.example:{internal.port}"]
    secret = {
        "Authorization": "Bearer x",
        "Cookie": "a=b",
        "X-Api-Key": "y",
        "Accept": "text/plain",
    }
    base = f"http://public.example:{public.port}"
    async with client(allow=allow) as http:
        http.auth = httpx.BasicAuth("user", "password")
        await http.post(f"{base}/", headers=secret | {"Idempotency-Key": "k"}, content=b"body")
        await http.get(f"{base}/same", headers={"X-Api-Key": "y"})
    elsewhere = internal.requests[0]
    assert {"authorization", "cookie", "x-api-key"}.isdisjoint(elsewhere.headers)
    assert elsewhere.headers["idempotency-key"] == "k"
    assert (elsewhere.method, elsewhere.content) == ("POST", b"body")
    assert public.requests[-1].headers["x-api-key"] == "y"  # the same origin may have it


async def test_cookies_are_not_kept(public: Server) -> None:
    public.answers["/"] = response(headers=("Set-Cookie: session=1; Path=/",))
    async with client(allow=[f"public.example:{public.port}"]) as http:
        for _ in range(2):
            await http.get(f"http://public.example:{public.port}/")
        assert not http.cookies
    assert "cookie" not in public.requests[1].headers
