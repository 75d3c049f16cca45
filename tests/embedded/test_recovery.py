"""Whatever is killed, the servers come back with their data and nobody else is hurt."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import psycopg
import redis

from heartbit_site.embedded import client, identity
from heartbit_site.embedded.server import Server
from heartbit_site.embedded.services import Valkey
from tests.embedded.conftest import alive, pids, wait_until

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory


def test_killed_servers_are_restarted_with_their_data(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    with psycopg.connect(state.database_url) as database:
        database.execute("CREATE TABLE rescued AS SELECT 1 AS one")
    with redis.Redis.from_url(state.redis_url) as valkey:
        valkey.set("kept", "1")
    before = pids(state)
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    def restarted() -> bool:
        services = client.status(state).services
        return all(services[n].ready and services[n].pid != before[n] for n in before)

    wait_until(restarted)
    with psycopg.connect(state.database_url) as database:
        assert database.execute("SELECT one FROM rescued").fetchone() == (1,)
    with redis.Redis.from_url(state.redis_url) as valkey:
        assert valkey.get("kept") == b"1"


def test_ensure_right_after_a_kill_waits_for_crash_recovery(state: StateDirectory) -> None:
    client.ensure({"postgres"}, state)
    for _ in range(3):
        os.kill(pids(state)["postgres"], signal.SIGKILL)
        wait_until(lambda: not client.status(state).services["postgres"].ready)
        client.ensure({"postgres"}, state)
        psycopg.connect(state.database_url).close()


def test_a_server_that_ends_while_it_is_asked_is_started_again(state: StateDirectory) -> None:
    async def scenario() -> None:
        server = Server(Valkey(state), state)
        await server.ensure()
        pid = client.status(state).services["valkey"].pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        # It is asked, has no answer, and then it is gone.
        asked = asyncio.create_task(server.ensure())
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        await asked
        assert client.status(state).services["valkey"].ready
        await server.stop()

    client.ensure({"postgres"}, state)
    asyncio.run(scenario())


def test_servers_survive_their_supervisor_and_are_adopted(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    before = pids(state)
    supervisor = client.status(state).supervisor
    assert supervisor
    with psycopg.connect(state.database_url) as database:
        os.kill(supervisor, signal.SIGKILL)
        wait_until(lambda: not alive(supervisor))
        client.ensure({"postgres", "valkey"}, state)
        assert database.execute("SELECT 1").fetchone() == (1,)
    assert pids(state) == before
    assert client.status(state).supervisor not in {None, supervisor}

    # An adopted server is watched and stopped like a started one.
    os.kill(before["valkey"], signal.SIGKILL)
    wait_until(lambda: pids(state).get("valkey") not in {None, before["valkey"]})
    running = pids(state)
    client.stop(state)
    assert not any(alive(pid) for pid in running.values())


def test_stop_finds_servers_whose_supervisor_was_killed(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    running = pids(state)
    supervisor = client.status(state).supervisor
    assert supervisor
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not alive(supervisor))
    client.stop(state)
    assert not any(alive(pid) for pid in running.values())
    assert client.status(state).supervisor is None


def test_everything_killed_at_once_starts_again(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    supervisor = client.status(state).supervisor
    assert supervisor
    for pid in (supervisor, *pids(state).values()):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not pids(state))
    client.ensure({"postgres", "valkey"}, state)
    psycopg.connect(state.database_url).close()


def test_a_recycled_process_id_is_neither_mistaken_nor_signalled(state: StateDirectory) -> None:
    client.ensure({"postgres", "valkey"}, state)
    lock_file = state.run / ".s.PGSQL.5432.lock"
    pid_file = state.data("postgres") / "postmaster.pid"
    content = pid_file.read_text()
    client.stop(state)
    account = pwd.getpwnam(identity.server_user().name)
    bystander = subprocess.Popen(["/bin/sleep", "60"], user=account.pw_uid)
    try:
        # As after a power cut: the files remain, and their id now belongs to somebody else.
        stale = content.replace(content.partition("\n")[0], str(bystander.pid), 1)
        for path in (pid_file, lock_file):
            path.write_text(stale)
            os.chown(path, account.pw_uid, account.pw_gid)
        client.ensure({"postgres", "valkey"}, state)
        assert pids(state)["postgres"] != bystander.pid
        client.stop(state)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_an_interrupted_first_start_is_repeated(fresh_state: StateDirectory) -> None:
    state = fresh_state
    client.ensure({"valkey"}, state)
    unfinished = state.data("postgres").with_name("postgres.unfinished")
    unfinished.mkdir()
    (unfinished / "PG_VERSION").write_text("18\n")
    client.ensure({"postgres"}, state)
    assert not unfinished.exists()


def test_servers_of_a_removed_state_directory_end(fresh_state: StateDirectory) -> None:
    state = fresh_state
    client.ensure({"postgres", "valkey"}, state)
    running = pids(state)
    supervisor = client.status(state).supervisor
    assert supervisor

    def removed() -> bool:
        # Again and again, for servers that live on create files meanwhile.
        shutil.rmtree(state.path, ignore_errors=True)
        return not any(alive(pid) for pid in (supervisor, *running.values()))

    wait_until(removed)
    client.ensure({"valkey"}, state)
    assert client.status(state).services["valkey"].ready
