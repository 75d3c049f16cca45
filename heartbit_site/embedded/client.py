"""Client of the embedded services: start them, use them, release them.

Every process that called `ensure` counts as a user until it ends or calls `release`. The servers
outlive their last user by HEARTBIT_EMBEDDED_IDLE_SECONDS seconds (300).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heartbit_site.embedded import layout, locks, logs, probes
from heartbit_site.embedded.errors import EmbeddedError, os_errors
from heartbit_site.embedded.state import SERVICES, ServiceName, StateDirectory

# Longer than the supervisor's own limits, which give the better sentence.
_TIMEOUT_SECONDS: Final = 120.0
_ATTEMPTS: Final = 10
_PACKAGE_ROOT: Final = Path(__file__).parents[2]
# A process that outlives its caller should not keep the caller's secrets.
_INHERITED: Final = (
    "HEARTBIT_EMBEDDED_IDLE_SECONDS",
    "HEARTBIT_LOCAL_MODEL_THREADS",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
)

_use_lock: Final = threading.Lock()
_used: Final[dict[Path, int]] = {}


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """State of one server.

    Attributes:
        pid: Its process id, or None when it does not run.
        ready: True if it answers.
    """

    pid: int | None
    ready: bool


@dataclass(frozen=True, slots=True)
class Status:
    """State of the services of a state directory.

    Attributes:
        supervisor: The supervisor's process id, None when there is none.
        services: Every service by name.
    """

    supervisor: int | None
    services: Mapping[ServiceName, ServiceStatus]


def ensure(services: Collection[ServiceName], state: StateDirectory | None = None) -> None:
    """Start the services that do not run; return when all answer.

    The process counts as a user of the services from now on. A call is cheap (1 to 2 ms) while they
    run, so repeat it whenever a connection was lost.

    Raises:
        EmbeddedError: A service cannot be used; the message says why and what to do.
    """
    state = state or StateDirectory()
    _use(state)
    if probes.listening(state.control_socket) and all(
        probes.ready(service, state) for service in services
    ):
        return
    _ask(state, {"do": "ensure", "services": list(services)})


def stop(state: StateDirectory | None = None) -> None:
    """Stop the servers and their supervisor now, used or not, and wait for their end.

    Raises:
        EmbeddedError: A process does not end.
    """
    state = state or StateDirectory()
    locked = (state.supervisor_lock, *(state.lock(service) for service in SERVICES))
    with os_errors(state.path):
        if not any(locks.held(lock) for lock in locked):
            return
    _ask(state, {"do": "stop"})


def release() -> None:
    """End this process's use of all services; the servers stop when they have no other user."""
    with _use_lock:
        while _used:
            # Closed, not unlocked: a forked child shares the lock and remains a user.
            os.close(_used.popitem()[1])


def status(state: StateDirectory | None = None) -> Status:
    """Return the state of the services; starts nothing."""
    state = state or StateDirectory()
    record = state.model_record() or {}
    model_pid = record.get("pid")
    pids = {
        "postgres": probes.peer_pid(state.postgres_socket),
        "valkey": probes.peer_pid(state.valkey_socket),
        "model": model_pid if isinstance(model_pid, int) else None,
    }
    return Status(
        supervisor=probes.peer_pid(state.control_socket),
        services={
            name: ServiceStatus(pid=pids[name], ready=probes.ready(name, state))
            for name in SERVICES
        },
    )


def _use(state: StateDirectory) -> None:
    with _use_lock:
        if state.path in _used and os.fstat(_used[state.path]).st_nlink == 0:
            # The state directory was removed in the meantime.
            os.close(_used.pop(state.path))
        if state.path not in _used:
            layout.create(state)
            _used[state.path] = _acquire(state, state.users_lock, shared=True)
        # Tells the supervisor about users that come and go between two of its checks.
        os.utime(_used[state.path])


def _acquire(state: StateDirectory, path: Path, *, shared: bool = False) -> int:
    with os_errors(state.path):
        lock = locks.acquire(path, shared=shared, timeout=_TIMEOUT_SECONDS)
    if lock is None:
        raise EmbeddedError(
            f"Another process has held {path} for {_TIMEOUT_SECONDS:.0f} seconds: see "
            f"{state.log('supervisor')}, or end it ('fuser {path}' names it)."
        )
    return lock


def _ask(state: StateDirectory, request: dict[str, object]) -> None:
    for _ in range(_ATTEMPTS):
        _start_supervisor(state)
        reply = _exchange(state, request)
        if reply is None:
            # The supervisor was killed or stopped in the meantime.
            continue
        if reply["error"]:
            raise EmbeddedError(str(reply["error"]))
        return
    raise EmbeddedError(
        f"The supervisor of {state.path} ended {_ATTEMPTS} times in a row without an answer: see "
        f"{state.log('supervisor')}."
    )


def _exchange(state: StateDirectory, request: dict[str, object]) -> dict[str, object] | None:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT_SECONDS)
            connection.connect(os.fspath(state.control_socket))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile() as replies:
                # Wait for the end of the connection, which a stopping supervisor closes when it
                # exits.
                line = replies.read()
    except TimeoutError:
        raise EmbeddedError(
            f"The supervisor of {state.path} did not answer within {_TIMEOUT_SECONDS:.0f} "
            f"seconds: see {state.log('supervisor')}."
        ) from None
    except OSError:
        return None
    reply: dict[str, object] | None = json.loads(line) if line else None
    return reply


def _start_supervisor(state: StateDirectory) -> None:
    lock = _acquire(state, state.start_lock)
    try:
        if not probes.listening(state.control_socket):
            _spawn_supervisor(state)
    finally:
        os.close(lock)


def _spawn_supervisor(state: StateDirectory) -> None:
    log_path = state.log("supervisor")
    offset = logs.size(log_path)
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(_PACKAGE_ROOT), environment.get("PYTHONPATH")))
    )
    with os_errors(state.path):
        log = logs.open_append(log_path)
    try:
        # It detaches itself and returns when the control socket answers.
        result = subprocess.run(  # noqa: S603 -- this interpreter and a module of our own
            [sys.executable, "-P", "-m", "heartbit_site.embedded.supervisor", str(state.path)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment,
            start_new_session=True,
            timeout=_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise EmbeddedError(
            f"The supervisor did not start within {_TIMEOUT_SECONDS:.0f} seconds: see {log_path}."
        ) from None
    finally:
        os.close(log)
    if result.returncode:
        raise EmbeddedError(
            f"The supervisor did not start: {logs.reason_since(log_path, offset)} "
            f"(log: {log_path})."
        )
