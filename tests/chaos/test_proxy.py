"""The proxy breaks connections as it says: a fault that is none would make a scenario green."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.chaos.proxy import Fault, Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that says again what it hears; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while heard := connection.recv(100):
                    connection.sendall(heard)
            except ConnectionError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    with Proxy("127.0.0.1", echo) as made:
        yield made


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", proxy.port), timeout=5)) as made:
        assert said(made) == b"hello"
        yield made


def said(client: socket.socket) -> bytes:
    client.sendall(b"hello")
    return client.recv(100)


def test_a_drop_ends_connections_and_new_ones(proxy: Proxy, client: socket.socket) -> None:
    with proxy.fault(Fault.DROP):
        assert client.recv(100) == b""
        with closing(socket.create_connection(("127.0.0.1", proxy.port), timeout=5)) as another:
            assert another.recv(100) == b""
    with closing(socket.create_connection(("127.0.0.1", proxy.port), timeout=5)) as later:
        assert said(later) == b"hello"


def test_a_reset_is_one(proxy: Proxy, client: socket.socket) -> None:
    with proxy.fault(Fault.RESET), pytest.raises(ConnectionResetError):
        client.recv(100)


def test_latency_delays_each_piece(proxy: Proxy, client: socket.socket) -> None:
    with proxy.fault(Fault.LATENCY, latency_ms=100):
        began = time.monotonic()
        assert said(client) == b"hello"
        assert time.monotonic() - began >= 0.2


def test_a_blackhole_holds_everything_back(proxy: Proxy, client: socket.socket) -> None:
    with proxy.fault(Fault.BLACKHOLE):
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            said(client)
    client.settimeout(5)
    assert client.recv(100) == b"hello"


def test_a_half_open_connection_loses_the_answers(proxy: Proxy, client: socket.socket) -> None:
    with proxy.fault(Fault.HALF_OPEN):
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            said(client)
    client.settimeout(5)
    with pytest.raises(ConnectionResetError):
        client.recv(100)
