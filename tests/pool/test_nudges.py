"""Nudges: written by hand in Celery's protocol, taken without acknowledgement, never hoarded."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING, Any

import pytest
from celery import Celery

from heartbit_site import kombu_patches
from heartbit_site.base import enqueue
from heartbit_site.base.enqueue import TaskMessage
from heartbit_site.kombu_patches import LeanChannel
from tests.pool.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pool.processes import Valkey, Worker


both = pytest.mark.parametrize("kind", ["", "loop."], ids=["thread", "loop"])


def calls(valkey: Valkey) -> dict[str, int]:
    """How often each command was asked of the broker."""
    stats: dict[str, Any] = valkey.client.info("commandstats")
    return {name.removeprefix("cmdstat_"): entry["calls"] for name, entry in stats.items()}


@both
def test_a_worker_without_acknowledgements_takes_no_more_than_it_has_slots_for(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    worker = start_worker(concurrency=2, acknowledges=False)
    for number in range(6):
        client.send_task(f"{kind}wait", (f"run {number}", 0.4), ignore_result=True)
    worker.wait_for("started", count=2)
    taken = 6 - valkey.queued()
    # A starved test looks late: then as many more were taken as have finished since.
    assert taken - len(worker.events("finished")) <= 2
    assert valkey.unacked() == 0
    worker.wait_for("finished", count=6)
    # Two at a time, to the last: a third began only when one of the first two had finished.
    started, finished = worker.events("started"), worker.events("finished")
    for number in range(2, 6):
        assert started[number]["at"] >= finished[number - 2]["at"]
    assert not valkey.client.exists("unacked_index")


@both
def test_a_message_without_acknowledgement_costs_the_broker_no_command_for_one(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    worker = start_worker(acknowledges=False)
    valkey.client.config_resetstat()
    for number in range(5):
        client.send_task(f"{kind}note", (f"run {number}",), ignore_result=True)
    worker.wait_for("noted", count=5)
    assert worker.stop(signal.SIGTERM) < 10  # whatever it still had to say is said now
    assert not calls(valkey).keys() & {"zadd", "zrem", "hdel"}


def test_a_channel_makes_one_client_for_all_its_commands(client: Celery) -> None:
    kombu_patches.install()
    with client.connection_for_write() as connection:
        channel: Any = connection.default_channel
        assert isinstance(channel, LeanChannel)
        assert channel._create_client() is channel._create_client()
        channel._disconnect_pools()  # as after a fork: the old client's connections are another's
        assert channel._create_client().connection_pool is channel.pool


def test_a_nudge_whose_time_is_over_runs_nothing(
    client: Celery, monkeypatch: pytest.MonkeyPatch, start_worker: Callable[..., Worker]
) -> None:
    monkeypatch.setattr(enqueue, "application", lambda: client)
    enqueue.send(TaskMessage("note", "late", "celery", seconds=-1))
    enqueue.send(TaskMessage("note", "in time", "celery", seconds=60))
    enqueue.send(TaskMessage("note", "whenever", "celery"))
    worker = start_worker(acknowledges=False)
    worker.wait_for("noted", count=2)
    assert sorted(event["name"] for event in worker.events("noted")) == ["in time", "whenever"]


@both
def test_a_nudge_runs_its_task_and_a_chord_s_body_once_after_all_of_its_header(
    client: Celery, monkeypatch: pytest.MonkeyPatch, start_worker: Callable[..., Worker], kind: str
) -> None:
    monkeypatch.setattr(enqueue, "application", lambda: client)
    worker = start_worker(acknowledges=False)
    enqueue.send(TaskMessage(f"{kind}note", "it", "celery"))
    assert worker.wait_for("noted", "it")
    for chord in range(3):
        header = [TaskMessage(f"{kind}note", f"{chord}.{part}", "celery") for part in range(4)]
        enqueue.send_chord(header, TaskMessage(f"{kind}note", f"body {chord}", "celery"))
    worker.wait_for("noted", count=16)
    names = [event["name"] for event in worker.events("noted")]
    for chord in range(3):
        body = names.index(f"body {chord}")
        assert all(names.index(f"{chord}.{part}") < body for part in range(4))
    assert len(names) == len(set(names))


def test_a_broker_that_is_away_is_logged_and_never_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"redis+socket://{tmp_path / 'nobody'}?virtual_host=0"
    with Celery("lonely", broker=url, backend=url, set_as_current=False) as lonely:
        lonely.conf.result_backend_transport_options = {"retry_policy": {"max_retries": 0}}
        lonely.conf.broker_transport_options = {"max_retries": 0}
        monkeypatch.setattr(enqueue, "application", lambda: lonely)
        with caplog.at_level(logging.WARNING):
            enqueue.send(TaskMessage("note", "it", "celery"))
            enqueue.send_chord(
                [TaskMessage("note", "it", "celery")], TaskMessage("note", "body", "celery")
            )
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        "the broker is unavailable"
    ] * 2


def test_a_broker_that_came_back_is_nudged_again(
    client: Celery,
    monkeypatch: pytest.MonkeyPatch,
    valkey: Valkey,
    start_worker: Callable[..., Worker],
) -> None:
    monkeypatch.setattr(enqueue, "application", lambda: client)
    worker = start_worker(acknowledges=False)
    enqueue.send(TaskMessage("note", "before", "celery"))
    worker.wait_for("noted", "before")
    valkey.kill()
    enqueue.send(TaskMessage("note", "lost", "celery"))
    valkey.start()

    def noted() -> bool:
        enqueue.send(TaskMessage("note", "after", "celery"))
        return bool(worker.events("noted", "after"))

    wait_until(noted, what="a nudge arrives")
    assert not worker.events("noted", "lost")
