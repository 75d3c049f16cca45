"""Broker, results and chords over a Unix socket, and a broker that dies under load."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from celery import chord
from kombu.exceptions import OperationalError
from kombu.transport import redis as transport

from heartbit_site import kombu_patches
from tests.pool.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from tests.pool.processes import Valkey, Worker

# Any, because the guard replaces an attribute that the stubs do not know.
Transport: Any = transport.Transport


def test_results_and_chords_work_over_a_unix_socket(
    client: Celery, start_worker: Callable[..., Worker]
) -> None:
    start_worker()
    header = [client.signature("echo", (number,)) for number in range(10)]
    assert chord(header, app=client)(client.signature("total")).get(timeout=15) == 45


def test_the_worker_survives_the_death_of_its_broker_under_load(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker]
) -> None:
    """Each kill finds messages unacknowledged and the consumer polling: kombu 5.7.0 dies of it."""
    worker = start_worker(concurrency=8)

    def send(name: str, seconds: float) -> bool:
        try:
            client.send_task("wait_late", (name, seconds), ignore_result=True)
        except OperationalError:
            return False
        return True

    for kill in range(2):
        for number in range(3):
            assert send(f"before {kill}.{number}", 0.8)
        worker.wait_for("started", f"before {kill}.2")
        assert valkey.unacked() >= 3
        valkey.kill()
        valkey.start()
        wait_until(lambda name=f"after {kill}": send(name, 0.01), what="the client reconnects")  # type: ignore[misc]
        worker.wait_for("finished", f"after {kill}")
        for number in range(3):
            worker.wait_for("finished", f"before {kill}.{number}")
        # Acknowledged late, through a channel whose connection is gone: lost, they would all run
        # again after the visibility timeout.
        wait_until(lambda: valkey.unacked() == 0, what="late acknowledgements arrive")
        assert worker.alive(), worker.log()
    assert "Unrecoverable error" not in worker.log()
    assert "hostname" not in worker.log()


@pytest.mark.parametrize("acknowledges", [True, False])
def test_the_worker_survives_a_broker_that_refuses(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], *, acknowledges: bool
) -> None:
    """A full disk is one reason; kombu 5.7.0 dies of it."""
    worker = start_worker(concurrency=8, acknowledges=acknowledges)
    task = "wait_late" if acknowledges else "wait"
    for name, seconds in (("at work", 1.0), ("over", 0.01)):
        client.send_task(task, (name, seconds), ignore_result=True)
    worker.wait_for("finished", "over")
    with valkey.refuses():
        worker.wait_for("finished", "at work")
        wait_until(lambda: worker.log().count("the broker refuses to answer") > 1, what="pings")
    client.send_task(task, ("after", 0.01), ignore_result=True)
    worker.wait_for("finished", "after")
    wait_until(lambda: valkey.unacked() == 0, what="late acknowledgements arrive")
    assert worker.alive(), worker.log()
    assert "Unrecoverable error" not in worker.log()


def test_the_guard_is_installed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transport, "Channel", transport.Channel)
    assert kombu_patches.install()
    assert kombu_patches.install()
    assert Transport.Channel is kombu_patches.LeanChannel


def test_the_guard_leaves_other_versions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transport, "Channel", transport.Channel)
    monkeypatch.setattr(metadata, "version", lambda _: "5.8.0")
    assert not kombu_patches.install()
    assert Transport.Channel is transport.Channel
