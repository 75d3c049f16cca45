"""Health of a real worker over HTTP: live, ready, and the reasons for which it is not."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.conf import settings

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding
from heartbit_site.cli.options.address import parse_address
from heartbit_site.cli.terminal.errors import USAGE, CommandError
from heartbit_site.health_server import CONNECTIONS
from tests.chaos.proxy import Fault, Proxy
from tests.fleet import Worker, wait_until
from tests.pace import within
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

ADDRESS = re.compile(r"Health checks are answered at (http://\S+)\.")
QUEUE = "q-draining"  # no other worker may take its run


@contextmanager
def healthy(
    environment: dict[str, str] | None = None, *, queue: str = "q-health"
) -> Iterator[tuple[Worker, str]]:
    """A worker that answers health checks, and where."""
    options = ("--bind", "127.0.0.1:0")
    with Worker(queues=queue, environment=environment, options=options) as worker:
        found = ADDRESS.search(worker.log.read_text())
        assert found is not None
        yield worker, found[1]


def ask(url: str, path: str = "/ready") -> tuple[int, dict[str, Any]]:
    response = httpx.get(f"{url}{path}", trust_env=False, timeout=10)
    return response.status_code, response.json()


def wait_for(url: str, status: int, **checks: str) -> None:
    """Return when readiness is that status with those checks among its own."""

    def holds() -> bool:
        found, body = ask(url)
        return found == status and body["checks"].items() >= checks.items()

    wait_until(holds, seconds=30, what=f"{status} with {checks}")


@pytest.fixture(scope="module")
def worker_url(database: None, wire_server: WireServer) -> Iterator[str]:
    with healthy() as (_, url):
        yield url


def test_a_worker_is_live_and_ready(worker_url: str) -> None:
    assert ask(worker_url, "/live") == (200, {"status": "live"})
    wait_for(worker_url, 200, registration="ok", database="ok", broker="ok", shutdown="ok")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /ready?from=kubelet HTTP/1.1", b"200"),
        ("HEAD /live HTTP/1.0", b"200"),
        ("GET / HTTP/1.1", b"404"),
        ("POST /live HTTP/1.1", b"405"),
    ],
)
def test_requests_by_hand(worker_url: str, request_line: str, status: bytes) -> None:
    answer = speak(worker_url, f"{request_line}\r\nHost: x\r\n\r\n".encode())
    assert answer.split(b" ")[1] == status


@pytest.mark.parametrize("sent", [b"GET /live" + b"a" * 100_000, b"\x16\x03\x01\r\n\r\n"])
def test_what_is_no_request_harms_nothing(worker_url: str, sent: bytes) -> None:
    assert not speak(worker_url, sent).startswith(b"HTTP/1.1 200")
    assert ask(worker_url, "/live")[0] == 200


def test_given_many_idle_connections_when_a_check_comes_then_it_is_answered_and_the_oldest_ends(
    worker_url: str,
) -> None:
    address = parse_address(worker_url.removeprefix("http://"))
    with ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(address)) for _ in range(CONNECTIONS)]
        assert ask(worker_url, "/live")[0] == 200
        idle[0].settimeout(20)
        assert is_ended(idle[0])
    wait_for(worker_url, 200)


@pytest.mark.paced
def test_given_half_a_request_then_its_connection_ends_after_a_second(worker_url: str) -> None:
    address = parse_address(worker_url.removeprefix("http://"))
    with socket.create_connection(address) as idle:
        idle.settimeout(20)
        idle.sendall(b"GET /live HTTP/1.1\r\n")
        with within(4):
            assert is_ended(idle)


def is_ended(connection: socket.socket) -> bool:
    """Wait until the server has ended it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("lost", ["database", "broker"])
def test_a_worker_that_lost_a_service_is_live_and_not_ready(
    database: None, wire_server: WireServer, lost: str
) -> None:
    with broken(lost) as (proxy, environment), healthy(environment) as (_, url):
        wait_for(url, 200)
        with proxy.fault(Fault.DROP):
            wait_for(url, 503, **{lost: "unreachable"})
            assert ask(url, "/live")[0] == 200
        wait_for(url, 200, **{lost: "ok"})


def test_a_worker_that_drains_is_live_and_not_ready(
    workspace: Workspace, wire_server: WireServer
) -> None:
    agent = Agent.objects.create(
        workspace=workspace, name="poster", system_prompt="Post.", queue=QUEUE
    )
    ToolBinding.objects.create(agent=agent, tool="http_request", approval="never")
    publish_agent(agent)
    with socket.create_server(("127.0.0.1", 0)) as slow:
        slow.settimeout(30)
        place = f"127.0.0.1:{slow.getsockname()[1]}"
        with healthy({"HEARTBIT_HTTP_ALLOWLIST": place}, queue=QUEUE) as (worker, url):
            call = f'http_request {{"method": "POST", "url": "http://{place}/"}}'
            start_run(
                workspace,
                f"[[calls: {call}]] [[text: Done.]]",
                agent="poster",
                model="openai:fake",
            )
            effect, _ = slow.accept()
            worker.signal(signal.SIGTERM)
            wait_for(url, 503, shutdown="draining")
            assert ask(url, "/live")[0] == 200
            with effect:
                effect.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            assert worker.stop() == 0
        with pytest.raises(httpx.TransportError):
            ask(url)


@pytest.mark.parametrize("text", ["8001", "127.0.0.1", ":8001", "a:b", "h:65536", "::1:80", "h:"])
def test_an_address_without_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(CommandError) as refused:
        parse_address(text)
    assert refused.value.code == USAGE


@pytest.mark.parametrize(
    ("text", "address"), [("localhost:8001", ("localhost", 8001)), ("[::1]:0", ("::1", 0))]
)
def test_addresses_are_read(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


def speak(url: str, sent: bytes) -> bytes:
    """Send bytes; all that comes back until the other side closes."""
    host, port = parse_address(url.removeprefix("http://"))
    received = b""
    with socket.create_connection((host, port), timeout=20) as connection:
        try:
            connection.sendall(sent)
            while piece := connection.recv(4096):
                received += piece
        except ConnectionError:
            pass  # it was closed with bytes of ours unread
    return received


@contextmanager
def broken(service: str) -> Iterator[tuple[Proxy, dict[str, str]]]:
    """A proxy before the database or the broker, and the environment that leads through it."""
    state = settings.ENVIRONMENT.state
    socket_path = state.postgres_socket if service == "database" else state.valkey_socket
    with Proxy(socket_path) as proxy:
        place = f"127.0.0.1:{proxy.port}"
        if service == "database":
            yield proxy, {"DATABASE_URL": f"postgresql://heartbit@{place}/heartbit"}
        else:
            yield proxy, {"REDIS_URL": f"redis://{place}/0"}
