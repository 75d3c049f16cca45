"""`heartbit up` and `down`, with services of their own."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from heartbit_site.cli.commands import processes
from heartbit_site.cli.installation.startup import print_first_login
from heartbit_site.cli.options.address import page_url, reachable_host
from heartbit_site.embedded import client
from heartbit_site.embedded.state import StateDirectory
from heartbit_site.environment import read
from heartbit_site.first_start import Admin
from tests.embedded.conftest import passable_directory
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.command import Command


@pytest.fixture(scope="module")
def state() -> Iterator[StateDirectory]:
    """A directory that does not exist yet."""
    with passable_directory() as path:
        yield StateDirectory(path / "s")
        client.stop(StateDirectory(path / "s"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.timeout(400)  # a first start on a busy machine
def test_up_starts_everything_once_and_one_ctrl_c_ends_it(
    heartbit: Command, state: StateDirectory
) -> None:
    port = free_port()
    env = {"HEARTBIT_STATE_DIR": str(state.path)}
    process = heartbit.spawn("up", "--port", str(port), "--concurrency", "5", env=env)
    page = f"http://127.0.0.1:{port}/admin/login/"

    browser = httpx.Client(trust_env=False, timeout=30)

    def answers() -> bool:
        assert process.poll() is None
        try:
            return browser.get(page).status_code == 200
        except httpx.TransportError:
            return False

    mine: list[psutil.Process] = []
    below: list[psutil.Process] = []
    try:
        with browser:
            wait_until(answers, seconds=200, what=page)
        # Not those of the worker, which may be probing its sandbox.
        mine = psutil.Process(process.pid).children()
        # They are forks, but `ps` shows what each of them does.
        assert {child.cmdline()[1] for child in mine} == {"serve", "beat", "web"}
        submitted = heartbit("submit", "x [[text: ok]]", "--watch", env=env)
        assert (submitted.code, submitted.out) == (0, "ok\n")
        refused = heartbit("down", env=env)
        assert refused.code == 1
        assert "--force" in refused.err
        added = heartbit(
            "channels", "add", "tickets", "--kind", "webhook", "--agent", "orchestrator", env=env
        )
        assert f"http://127.0.0.1:{port}/" in added.out + added.err, "links of other commands too"
        worker = next(child for child in mine if "serve" in child.cmdline())
        worker.kill()
        again = heartbit("submit", "x [[text: again]]", "--watch", env=env)
        assert (again.code, again.out) == (0, "again\n")
        mine += psutil.Process(process.pid).children()
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
    finally:
        if process.poll() is None and not mine:
            process.terminate()
            process.communicate(timeout=60)
    ended = heartbit.end(process, seconds=30)
    assert ended.code == 0
    assert [child for child in mine if child.is_running()] == []
    # What the new worker has started, as to probe its sandbox, may end a little after it.
    assert psutil.wait_procs(below, timeout=10)[1] == []
    assert client.status(state).supervisor is None
    assert "First start" in ended.err
    # Its output is a pipe, like a service's: no log is given the password.
    assert "admin name admin; `heartbit users password admin` sets its password" in ended.err
    _, _, after = ended.out.partition(f"Heartbit is at http://127.0.0.1:{port}/")
    assert "`heartbit users password admin` sets a password" in after
    assert "worker | ended (SIGKILL); starting it again" in ended.out
    assert "\x1b" not in ended.out


def test_links_in_mails_lead_to_the_page_that_up_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ready(Exception):
        """The settings are read now, in the process whose forks write the mails."""

    def ensure_ready(*modules: str, waits: bool) -> None:
        raise Ready(os.environ["HEARTBIT_PUBLIC_URL"])

    monkeypatch.setenv("HEARTBIT_PUBLIC_URL", "")
    monkeypatch.setattr(processes, "ensure_ready", ensure_ready)
    port = free_port()
    with pytest.raises(Ready, match=f"^http://127.0.0.1:{port}$"):
        processes.up(port=port, bind="127.0.0.1", concurrency=5, queues="agents")


@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_password_is_printed_to_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    print_first_login(Admin("admin", "word-1"), read())
    said = capsys.readouterr().err
    assert ("word-1" in said) is terminal
    assert "`heartbit users password admin` sets" in said


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:9000"),
        ("0.0.0.0", "http://127.0.0.1:9000"),  # noqa: S104  compared, not bound
        ("::", "http://[::1]:9000"),
        ("heartbit.example", "http://heartbit.example:9000"),
    ],
)
def test_the_address_of_the_page_is_one_that_a_browser_here_can_open(
    bind: str, expected: str
) -> None:
    assert page_url(bind, 9000) == expected
    assert f"//{reachable_host(bind)}:" in expected.replace("[", "").replace("]", "")


def test_down_stops_what_nobody_uses(heartbit: Command, state: StateDirectory) -> None:
    # They would end by themselves while a slow machine starts the next command.
    env = {"HEARTBIT_STATE_DIR": str(state.path), "HEARTBIT_EMBEDDED_IDLE_SECONDS": "600"}
    assert heartbit("status", env=env).code == 0
    assert client.status(state).services["postgres"].ready
    stopped = heartbit("down", env=env)
    assert (stopped.code, stopped.out) == (0, "Stopped postgres, valkey.\n")
    assert client.status(state).supervisor is None
    assert heartbit("down", env=env).out.startswith("Nothing runs in ")
