from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from celery import Celery

from tests.pool.processes import Valkey, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """A short path: a Unix socket's is limited to 107 characters."""
    path = Path(tempfile.mkdtemp(prefix="hb"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def valkey(directory: Path) -> Iterator[Valkey]:
    server = Valkey(directory)
    yield server
    server.close()


@pytest.fixture(scope="module")
def client(valkey: Valkey) -> Iterator[Celery]:
    with Celery("client", broker=valkey.url, backend=valkey.url, set_as_current=False) as app:
        app.conf.task_publish_retry = False
        yield app


@pytest.fixture(scope="module")
def worker(directory: Path, valkey: Valkey) -> Iterator[Worker]:
    """One worker for all tests of a module that leave it running."""
    process = Worker(directory, valkey.url)
    yield process
    process.close()


@pytest.fixture
def start_worker(tmp_path: Path, valkey: Valkey) -> Iterator[Callable[..., Worker]]:
    """A worker of one's own, with an empty broker."""
    valkey.client.flushdb()
    started: list[Worker] = []

    def start(**options: Any) -> Worker:
        process = Worker(tmp_path, valkey.url, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        process.close()
