"""Beat is ended in the middle of its work and in its sleep."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from celery.beat import Scheduler, Service

from heartbit_site.celery import app
from heartbit_site.celery_beat import PatientBeat

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interrupted(Scheduler):
    """A scheduler that is ended while it holds what its last act needs: a connection, say."""

    held = threading.Lock()
    acts: list[str] = []  # noqa: RUF012  of one test

    def setup_schedule(self) -> None:
        """It has no tasks."""

    def tick(self, *_: Any, **__: Any) -> float:
        with self.held:
            os.kill(os.getpid(), signal.SIGTERM)
            self.acts.append("worked on")
        return 0.01

    def close(self) -> None:
        assert self.held.acquire(timeout=1), "the work under way holds it"
        self.held.release()
        self.acts.append("written")


class Sleeping(Interrupted):
    """A scheduler that is ended while it sleeps for an hour."""

    def tick(self, *_: Any, **__: Any) -> float:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return 3600.0


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    Interrupted.acts.clear()
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("scheduler", "acts"), [(Interrupted, ["worked on", "written"]), (Sleeping, ["written"])]
)
def test_its_work_is_ended_first_and_its_sleep_is_cut_short(
    scheduler: type[Interrupted], acts: list[str]
) -> None:
    service = Service(app, scheduler_cls=scheduler)
    PatientBeat(app=app).install_sync_handler(service)
    service.start()
    assert scheduler.acts == acts
