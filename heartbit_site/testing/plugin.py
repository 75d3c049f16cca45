"""Plugin of pytest, found by its entry point: a workspace, and runs with a scripted model.

A test that uses none of the fixtures pays nothing. The first one that does starts Heartbit: with
the database of ``DATABASE_URL`` or ``HEARTBIT_STATE_DIR``, if one of them is set, else with servers
and a directory of the session's own, which are gone at the end. The directory is named before
pytest-django imports the settings, which read its name: they would be those of the installation of
this machine. No model is asked, and no key is needed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from agents.llm.adapters.scripted import Scripted
from agents.llm.messages import ChatRequest
from heartbit_site.base import variables
from heartbit_site.testing.played_run import PlayedRun

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from heartbit_site.library import Heartbit

#: Set by this plugin to the process that named the directory of the tests' servers.
_NAMED_BY: Final = "HEARTBIT_TESTS_PROCESS"


class Play(Protocol):
    """The fixture ``heartbit_run``."""

    def __call__(
        self,
        agent: Heartbit | Path,
        task: str = "",
        *,
        model: Sequence[Scripted] | Callable[[ChatRequest], Scripted] | Path,
        user: Any = None,
    ) -> PlayedRun:
        """Run a task to its end.

        Args:
            agent: The agent or team, or the path of a ``heartbit.toml`` with them.
            task: The task; empty: that of the cassette.
            model: The model's answers: a list, a function of the request, or a cassette's path.
            user: The person behind the run, a user of Django; None: no person.
        """
        ...


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Name the directory of the tests' servers, unless the environment names an installation."""
    of_parent = os.environ.get(_NAMED_BY, "") not in ("", str(os.getpid()))  # as pytest-xdist's are
    if of_parent or not (variables.DATABASE_URL.read() or variables.STATE.read()):
        # Short, because unix sockets live in it, and passable, because root's servers are another
        # user's.
        folder = Path(tempfile.mkdtemp(prefix="hbt", dir="/tmp"))
        folder.chmod(0o755)
        os.environ |= {variables.STATE.name: str(folder / "s"), _NAMED_BY: str(os.getpid())}
    return (yield)


def pytest_unconfigure() -> None:
    """Remove the directory of the tests' servers."""
    if _has_own_servers():
        del os.environ[_NAMED_BY]
        state = os.environ.pop(variables.STATE.name)
        shutil.rmtree(Path(state).parent, ignore_errors=True)


@pytest.fixture(scope="session")
def heartbit_installation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Heartbit in this process: its database, and a host that executes runs."""
    with ExitStack() as stack:
        if request.config.pluginmanager.hasplugin("django"):
            # Runs are executed by threads of their own, between tests too. There is nothing to
            # unblock where the project has no settings: Heartbit's are loaded below.
            blocker = request.getfixturevalue("django_db_blocker")
            if blocker is not None:
                stack.enter_context(blocker.unblock())
        if not (variables.DATABASE_URL.read() or variables.STATE.read()):
            raise pytest.UsageError(
                "The plugin was loaded too late to keep the tests from the installation of this "
                "machine: load it with -p heartbit_site.testing.plugin."
            )
        if _has_own_servers():
            stack.callback(_stop_servers)
        from heartbit_site.library import shared_host  # noqa: PLC0415  reads the environment

        shared_host.acquire()
        stack.callback(_close_connections)
        stack.callback(shared_host.close)
        stack.callback(shared_host.release)
        yield


@pytest.fixture
def heartbit_workspace(heartbit_installation: None) -> Workspace:
    """An empty workspace of the test's own."""
    from heartbit_site.base.models import Workspace  # noqa: PLC0415  needs Django set up

    slug = f"test-{secrets.token_hex(6)}"
    return Workspace.objects.create(slug=slug, name=slug)


@pytest.fixture
def heartbit_run(heartbit_workspace: Workspace, request: pytest.FixtureRequest) -> Play:
    """Run an agent in the test's workspace, with scripted or recorded answers of the model."""
    if request.node.get_closest_marker("django_db") is not None:
        raise pytest.UsageError(
            "heartbit_run and the mark django_db exclude each other, because a run does not see "
            "the rows of the test's transaction: remove the mark, the database is open without it."
        )
    from heartbit_site.base.aio import is_loop_running  # noqa: PLC0415  only if it is used
    from heartbit_site.base.errors import ConfigurationError  # noqa: PLC0415
    from heartbit_site.testing.play import play  # noqa: PLC0415  needs Django set up

    def run(
        agent: Heartbit | Path,
        task: str = "",
        *,
        model: Sequence[Scripted] | Callable[[ChatRequest], Scripted] | Path,
        user: Any = None,
    ) -> PlayedRun:
        if is_loop_running():
            raise ConfigurationError("heartbit_run blocks: make the test a plain function.")
        return asyncio.run(play(agent, task, model=model, user=user, workspace=heartbit_workspace))

    return run


def _has_own_servers() -> bool:
    return os.environ.get(_NAMED_BY) == str(os.getpid())


def _stop_servers() -> None:
    from heartbit_site.embedded import client  # noqa: PLC0415  only if it is used
    from heartbit_site.embedded.state import StateDirectory  # noqa: PLC0415

    client.release()
    client.stop(StateDirectory(Path(os.environ[variables.STATE.name])))


def _close_connections() -> None:
    from django.db import connections  # noqa: PLC0415  needs Django set up

    from heartbit_site.base import orm  # noqa: PLC0415

    orm.close()
    connections.close_all()
