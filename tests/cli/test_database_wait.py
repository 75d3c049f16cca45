"""Services that start while the database is away wait for it, and end when they are asked to."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from tests import prepared
from tests.chaos.proxy import Fault, Proxy
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.prepared import Process


@contextmanager
def service(command: str, port: int, *options: str) -> Iterator[tuple[Process, Path]]:
    """Start a service whose database is at a port; yield its process and its log."""
    parts = conninfo_to_dict(settings.DATABASE_URL)
    url = f"postgresql://{parts['user']}@127.0.0.1:{port}/{parts['dbname']}"
    descriptor, name = tempfile.mkstemp(prefix="service", suffix=".log")
    environment = {**os.environ, "DATABASE_URL": url, "REDIS_URL": settings.REDIS_URL}
    process = prepared.start(prepared.HEARTBIT, [command, *options], environment, descriptor)
    os.close(descriptor)
    try:
        yield process, Path(name)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=10)
        Path(name).unlink()


@pytest.mark.parametrize("command", ["web", "serve", "beat"])
def test_a_service_waits_for_its_database_and_ends_when_asked(command: str) -> None:
    with Proxy("127.0.0.1", 9) as proxy, service(command, proxy.port) as (process, log):
        said = f"Waiting for PostgreSQL at 127.0.0.1:{proxy.port} ("
        wait_until(lambda: said in log.read_text(), seconds=40, what="it waits")
        assert process.poll() is None
        process.terminate()
        assert process.wait(timeout=20) == 0, log.read_text()
        assert log.read_text().count("\n") == 1, log.read_text()


def test_it_goes_on_once_the_database_is_there(database: None) -> None:
    folder = conninfo_to_dict(settings.DATABASE_URL)["host"]
    server = Path(str(folder)) / ".s.PGSQL.5432"
    with Proxy(server) as proxy, ExitStack() as stack:
        with proxy.fault(Fault.DROP):
            process, log = stack.enter_context(service("web", proxy.port, "--port", "0"))
            wait_until(lambda: "Waiting for PostgreSQL" in log.read_text(), seconds=40)
        wait_until(lambda: "running on http" in log.read_text(), seconds=40)
        process.terminate()
        process.wait(timeout=20)
