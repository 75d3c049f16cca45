"""Start, use, share and stop the real servers."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
import redis

from heartbit_site.embedded import client, locks
from heartbit_site.embedded.state import SERVICES
from tests.embedded.conftest import ROOT, alive, pids, wait_until
from tests.pace import in_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.embedded.state import StateDirectory


def milliseconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def test_the_servers_are_what_the_settings_expect(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    with psycopg.connect(state.database_url) as database:
        settings: dict[str, str] = dict(
            database.execute(
                "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', "
                "'synchronous_commit', 'listen_addresses', 'server_encoding', 'max_connections')"
            ).fetchall()
        )
        assert settings == {
            "fsync": "on",
            "synchronous_commit": "on",
            "listen_addresses": "",
            "server_encoding": "UTF8",
            "max_connections": "200",
        }
        row = database.execute(
            "SELECT current_user::text, current_database()::text, '[1,2]'::vector::text, "
            "upper('é'), datlocale FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        assert row == ("heartbit", "heartbit", "[1,2]", "É", "C.UTF-8")
    with redis.Redis.from_url(state.redis_url) as valkey:
        assert valkey.config_get("append*")["appendonly"] == "yes"
        assert valkey.config_get("appendfsync") == {"appendfsync": "everysec"}
        assert valkey.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert valkey.config_get("port") == {"port": "0"}
    assert not state.run.stat().st_mode & stat.S_IRWXO
    if os.geteuid() == 0:
        assert state.data("postgres").stat().st_uid != 0
        for pid in pids(state).values():
            assert Path(f"/proc/{pid}").stat().st_uid == state.data("postgres").stat().st_uid


@pytest.mark.paced
def test_data_survive_a_stop(
    fresh_state: StateDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    state = fresh_state
    figures = {"cold start": milliseconds(lambda: client.ensure({"postgres", "valkey"}, state))}
    with psycopg.connect(state.database_url) as database:
        database.execute("CREATE TABLE kept AS SELECT 1 AS one")
    with redis.Redis.from_url(state.redis_url) as valkey:
        valkey.set("kept", "1")
    figures["warm ensure"] = min(
        milliseconds(lambda: client.ensure({"postgres", "valkey"}, state)) for _ in range(20)
    )
    before = pids(state)
    supervisor = client.status(state).supervisor
    figures["stop"] = milliseconds(lambda: client.stop(state))

    assert supervisor
    wait_until(lambda: not alive(supervisor))
    assert not any(alive(pid) for pid in before.values())
    assert not any(locks.held(state.lock(service)) for service in SERVICES)
    assert client.status(state).supervisor is None

    figures["start"] = milliseconds(lambda: client.ensure({"postgres", "valkey"}, state))
    with psycopg.connect(state.database_url) as database:
        assert database.execute("SELECT one FROM kept").fetchone() == (1,)
    with redis.Redis.from_url(state.redis_url) as valkey:
        assert valkey.get("kept") == b"1"
    with capsys.disabled():
        sys.stdout.write("".join(f"\n  {name}: {ms:.1f} ms" for name, ms in figures.items()))
    in_time(figures["warm ensure"] / 1000, 0.005)


def test_eight_processes_at_once_get_one_set_of_servers(
    fresh_state: StateDirectory, start_user: Callable[..., subprocess.Popen[str]]
) -> None:
    state = fresh_state
    users = [start_user("postgres", "valkey") for _ in range(8)]
    for user in users:
        assert user.stdout
        assert user.stdout.readline() == "ready\n"
    log = state.log("supervisor").read_text()
    assert log.count("PostgreSQL: started") == log.count("Valkey: started") == 1
    assert "adopted" not in log


def test_stop_and_ensure_in_a_race_leave_working_servers(
    state: StateDirectory, start_user: Callable[..., subprocess.Popen[str]]
) -> None:
    client.ensure({"valkey"}, state)
    users = [start_user("postgres", "valkey") for _ in range(3)]
    for _ in range(5):
        client.stop(state)
        client.ensure({"valkey"}, state)
    for user in users:
        assert user.stdout
        assert user.stdout.readline() == "ready\n"
    client.ensure({"postgres", "valkey"}, state)
    psycopg.connect(state.database_url).close()
    client.stop(state)
    assert not pids(state)


def test_servers_stop_when_the_last_user_is_killed(
    state: StateDirectory,
    start_user: Callable[..., subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEARTBIT_EMBEDDED_IDLE_SECONDS", "0.4")
    user = start_user("postgres", "valkey")
    assert user.stdout
    assert user.stdout.readline() == "ready\n"
    running = pids(state)
    supervisor = client.status(state).supervisor
    assert supervisor
    # Several lingers later they still serve, for their user lives.
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        assert pids(state) == running
        time.sleep(0.1)

    user.kill()

    wait_until(lambda: not alive(supervisor))
    assert not any(alive(pid) for pid in running.values())
    assert "database system is shut down" in state.log("postgres").read_text()


def test_release_ends_the_use_of_this_process(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTBIT_EMBEDDED_IDLE_SECONDS", "0.2")
    client.ensure({"valkey"}, state)
    client.release()
    wait_until(lambda: client.status(state).supervisor is None)
    wait_until(lambda: not pids(state))
    client.ensure({"valkey"}, state)
    assert client.status(state).services["valkey"].ready


def test_the_callers_output_stays_its_own(state: StateDirectory) -> None:
    """A pipe on the caller's output closes with the caller, though the servers live on."""
    program = "from heartbit_site.embedded import client; client.ensure({'postgres', 'valkey'})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        timeout=20,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == done.stderr == b""
    assert client.status(state).services["postgres"].ready


def test_the_supervisor_does_not_keep_the_callers_secrets(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "the-secret")
    client.ensure({"valkey"}, state)
    for pid in (client.status(state).supervisor, *pids(state).values()):
        assert b"the-secret" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_status_starts_nothing(fresh_state: StateDirectory) -> None:
    state = fresh_state
    status = client.status(state)
    assert status.supervisor is None
    assert not any(service.ready or service.pid for service in status.services.values())
    client.stop(state)
    assert not state.path.exists()
