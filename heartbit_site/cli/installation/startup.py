"""First steps of every command that needs the installation, with a note to the person waiting."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from heartbit_site.cli.terminal.output import listed, note
from heartbit_site.embedded import client, layout, locks
from heartbit_site.embedded.errors import EmbeddedError, os_errors
from heartbit_site.embedded.state import SERVICES, ServiceName, StateDirectory
from heartbit_site.environment import Environment, read

if TYPE_CHECKING:
    from heartbit_site.first_start import Admin

#: Set in a fork of a process that has made the installation usable: there only the services, which
#: may have ended since, are left to be started.
is_prepared = False

_TITLES: Final = {"postgres": "PostgreSQL", "valkey": "Valkey", "model": "the local model"}


def ensure_ready(
    *modules: str,
    model: str | None = None,
    tools: bool = True,
    reads_only: bool = False,
    waits: bool = False,
) -> Admin | None:
    """Make the installation usable; services start while Python imports.

    Args:
        modules: Further modules that are wanted anyway, imported while the services start.
        model: The `provider:model` that is going to be asked, empty for the default one. The
            server of the local one gets ahead; who needs it waits for it.
        tools: False: the command calls no tool, so their code is not imported.
        reads_only: True: it only reads what is stored, so the admin, schedules, Celery and the
            tools are not imported.
        waits: True: it is a service, which waits for an unavailable database.

    Returns:
        The first admin, if this call created it.

    Raises:
        EmbeddedError: A service cannot be started.
        ConfigurationError: The environment is wrong, or the database cannot be reached.
    """
    environment = read()
    starting = Starting(environment, wanted(environment))
    if is_prepared:
        starting.wait()
        return None
    if model is not None and is_local(model):
        Starting(environment, ["model"])
    with _without_garbage_collection():
        set_up_django(environment, tools=tools, reads_only=reads_only)
        importlib.import_module("agents.llm.environment").check_environment(os.environ)
        for module in modules:
            importlib.import_module(module)
    starting.wait()
    return _prepare(environment, waits=waits)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    gc.disable()  # imports make little garbage: looking for it costs a tenth of a second
    yield
    gc.freeze()
    gc.enable()


def _prepare(environment: Environment, *, waits: bool) -> Admin | None:
    """Prepare the database, once it answers; print and return the first admin, if it is new."""
    if waits and "postgres" not in environment.embedded:
        waiting = importlib.import_module("heartbit_site.cli.installation.database_wait")
        waiting.wait_for_database(environment.database_url)
    prepare = importlib.import_module("heartbit_site.bootstrap").prepare
    admin: Admin | None = prepare()
    if admin is not None:
        print_first_login(admin, environment)
    return admin


def is_local(model: str) -> bool:
    """Return True if the built-in model would be asked.

    Raises:
        ConfigurationError: The environment names a provider that does not exist.
    """
    reference = model or importlib.import_module("agents.llm.defaults").default_model(os.environ)
    return str(reference).partition(":")[0].strip() == "local"


def set_up_django(
    environment: Environment, *, tools: bool = True, reads_only: bool = False
) -> None:
    """Load settings and apps, as for ``ensure_ready``; asks no service for anything.

    Raises:
        EmbeddedError: The state directory, where the keys are, cannot be used.
        ConfigurationError: A setting, or an app of HEARTBIT_EXTRA_APPS, cannot be used.
    """
    with os_errors(environment.state.path):
        importlib.import_module("heartbit_site.settings_module").load_settings()
    if reads_only or not tools:
        importlib.import_module("tools.definitions.discovery").postpone()
    loading = importlib.import_module("heartbit_site.extra_apps")
    if reads_only:
        # It would look through all packages for plugins of its own.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        loading.load_reading_apps()
    loading.load_apps()


class Starting:
    """Embedded services being started in the background."""

    def __init__(self, environment: Environment, services: Collection[ServiceName]) -> None:
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if not services:
            return
        state = environment.state
        layout.create(state)  # here, so that a directory that cannot be used is said at once
        status = client.status(state).services
        missing = [name for name in services if not status[name].ready]
        if missing:
            note(f"Starting {listed([_TITLES[name] for name in missing])} ...")
        self._thread = threading.Thread(
            target=self._ensure, args=(environment, services), daemon=True
        )
        self._thread.start()

    def _ensure(self, environment: Environment, services: Collection[ServiceName]) -> None:
        try:
            client.ensure(services, environment.state)
        except BaseException as error:  # noqa: BLE001  carried to the thread that waits
            self._error = error

    def wait(self) -> None:
        """Return when they answer.

        Raises:
            EmbeddedError: One cannot be started.
        """
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error


def print_first_login(admin: Admin, environment: Environment) -> None:
    """Say, once, what the first start has made; the password to a terminal, never to a log."""
    where = "the embedded database" if "postgres" in environment.embedded else "the database"
    note(f"First start: set up {where} with a workspace, a team of agents and an admin.")
    if sys.stderr.isatty():
        note(f"  admin name {admin.name}, password {admin.password} (kept nowhere: write it down)")
        note(f"  `heartbit users password {admin.name}` sets a new one")
    else:
        note(f"  admin name {admin.name}; `heartbit users password {admin.name}` sets its password")


LOOK_SECONDS: Final = 5.0
MOMENT_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


def wanted(environment: Environment) -> list[ServiceName]:
    """Return the services that Heartbit has to run itself, because no URL names others."""
    return [name for name in SERVICES if name in environment.embedded]


@contextmanager
def kept(environment: Environment) -> Iterator[None]:
    """Look after the embedded services from a thread meanwhile.

    Their supervisor revives a server that died; this revives the supervisor. It has ended when
    this returns, so that nothing is started again that the caller then stops; but for a server
    that does not answer, the wait is a moment at most.
    """
    if not environment.embedded:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_keep, args=(environment, over), name="services", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(MOMENT_SECONDS)


def _keep(environment: Environment, over: threading.Event) -> None:
    while not over.wait(LOOK_SECONDS):
        try:
            client.ensure(wanted(environment), environment.state)
        except EmbeddedError as error:
            logger.error("%s", error)


def in_use(state: StateDirectory) -> bool:
    """Return True if a process uses the services; the caller counts until it called `release`."""
    try:
        lock = locks.acquire(state.users_lock)
    except OSError:
        return False  # there is no state directory, or it is another user's: `stop` says so
    if lock is None:
        return True
    os.close(lock)
    return False
