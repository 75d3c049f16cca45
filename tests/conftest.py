"""What every test may ask for: the real database, a workspace, a model server, workers."""

from __future__ import annotations

import gc
import os
import secrets
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import certifi
import hypothesis
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connections
from httpx._config import DEFAULT_TIMEOUT_CONFIG as httpx_defaults
from hypothesis import HealthCheck

from agents.actions.create_default_team import create_default_team
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from heartbit_site.base.process_memory import collect_seldom
from heartbit_site.bootstrap import prepare
from heartbit_site.embedded.state import StateDirectory
from tests import clusters
from tests import prepared as prepared_processes
from tests.api.server import Caller, WebServer
from tests.command import Command
from tests.environment import STATE
from tests.fleet import WireServer, Worker
from tests.rendering import only_pages_are_signalled
from tests.teams import Team
from tests.web.chromium import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from pytest_django import DjangoDbBlocker

    from tests.prepared import Prepared


def pytest_configure() -> None:
    """One authority instead of certifi's hundred and more.

    Every model client and every process of a test reads them all, which takes 20 ms each time;
    whom these tests talk to has no certificate, or brings its own authority.
    """
    first, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")
    authority = STATE / "authority.pem"
    authority.write_text(first + end)
    os.environ["SSL_CERT_FILE"] = str(authority)
    # pytest-xdist's processes are deaf to Ctrl-C, and so would be every process of a test.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what starts the tests may be under nohup
    prepared_processes.forks = True
    PBKDF2PasswordHasher.iterations = 1_000  # of a million, which take half a second a password
    httpx_defaults.read = 60.0  # of five seconds, which a loaded machine may take to answer
    gc.disable()
    # How fast examples are is the machine's, and no property of the code.
    hypothesis.settings.register_profile(
        "heartbit", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("heartbit")


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but never what stays to the end: all modules and tests."""
    gc.collect()
    gc.freeze()
    collect_seldom()
    gc.enable()


def pytest_sessionfinish() -> None:
    """End the processes that commands and workers were forked from."""
    prepared_processes.close_shared()


@pytest.fixture(scope="session", autouse=True)
def django_test_environment(django_test_environment: None) -> Iterator[None]:
    """Django's own, but ``response.context`` is that of the page, not of its widgets as well."""
    with only_pages_are_signalled():
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker) -> None:
    """pytest-django's database is the installation's own: workers and the CLI see the same one."""
    with django_db_blocker.unblock():
        clusters.provide(StateDirectory())
        prepare()


@pytest.fixture(scope="session")
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Committed rows, visible to other processes; nothing is rolled back or flushed."""
    with django_db_blocker.unblock():
        yield
        orm.close()
        connections.close_all()


@pytest.fixture(autouse=True)
def closed_callers() -> Iterator[None]:
    """Close the test's clients: a forgotten socket would warn in the middle of another test."""
    before = len(Caller.opened)
    yield
    while len(Caller.opened) > before:
        Caller.opened.pop().http.close()


@pytest.fixture(scope="session")
def team(database: None) -> Team:
    """The default team."""
    created = new_workspace()
    create_default_team(created)
    return Team(created)


@pytest.fixture
def workspace(team: Team) -> Workspace:
    """A workspace of the test's own, with the default team."""
    created = new_workspace()
    team.copy_to(created)
    return created


def new_workspace() -> Workspace:
    """An empty one."""
    slug = f"t-{secrets.token_hex(4)}"
    return Workspace.objects.create(slug=slug, name=slug)


@pytest.fixture(scope="session")
def wire_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireServer]:
    """The fake model provider, in a process of its own; this process's environment points at it."""
    with WireServer(ledger=tmp_path_factory.mktemp("wire") / "ledger.jsonl") as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        os.environ["OPENAI_API_KEY"] = "test"
        yield server


@pytest.fixture(scope="session")
def worker(database: None, wire_server: WireServer) -> Iterator[Worker]:
    """A fleet worker that serves the default queues."""
    with Worker() as process:
        yield process


@pytest.fixture(scope="session")
def site(database: None, wire_server: WireServer) -> Iterator[WebServer]:
    """The web process; its log may hold no defect at the end."""
    with WebServer() as server:
        yield server
        log = server.log.read_text()
        _, defect, rest = log.partition("Traceback")
        assert not defect, rest[:8000]


@pytest.fixture(scope="session")
def web(site: WebServer) -> WebServer:
    """The same web process, for tests of the API."""
    return site


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; a process has one (``tests.web.chromium``), so that no directory makes its own."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def prepared(database: None, wire_server: WireServer) -> Prepared:
    """Runs commands with the fake provider as their model, without what starting Python takes."""
    return prepared_processes.shared()


@pytest.fixture(scope="session")
def heartbit(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """`heartbit(...)`, with the fake provider as its model."""
    base = tmp_path_factory.getbasetemp()
    # pytest-xdist's processes have directories of their own in one that they share.
    used = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "used-commands"
    used.mkdir(exist_ok=True)
    return Command(prepared, used)
