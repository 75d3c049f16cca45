"""The same attacks on every sandbox."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import anyio
import pytest

from heartbit_site.base.http.allow import parse_allow
from tests.base.loopback import serving
from tests.pace import in_time, within
from tests.sizes import sized
from tests.tools.sandbox.attacks import DAEMON, ESCAPES, GRANTED, GREEDY, NETWORK, SMALL
from tests.tools.sandbox.fuzz import FUZZ, fuzz_seconds
from tests.tools.sandbox.processes import LATE, LOOPBACK, RunnerProcess, below, of_users, wait_for
from tools.sandbox import bubblewrap as module
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.languages import python
from tools.sandbox.program import Limits, Program
from tools.sandbox.remote import Remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.sandbox.program import Ended, Sandbox


class Battery:
    """Attacks on ``sandbox``; ``left`` counts the processes of programs that are still there."""

    kept: ClassVar[int] = 0

    @pytest.fixture
    def sandbox(self) -> Sandbox:
        raise NotImplementedError

    @pytest.fixture
    def left(self) -> Callable[[], int]:
        raise NotImplementedError

    async def test_it_holds(self, sandbox: Sandbox) -> None:
        assert await sandbox.problem() is None

    @pytest.mark.parametrize("name", ESCAPES)
    async def test_nothing_gets_out(
        self,
        sandbox: Sandbox,
        name: str,
        host: dict[str, object],
        record_property: Callable[[str, object], None],
    ) -> None:
        record_property("note:attacks", 1)
        ended = await run(sandbox, _aimed(ESCAPES[name], host), Limits(seconds=10))
        assert "ESCAPED" not in ended.stdout, ended.stdout
        assert ended.code is not None, "it came to an end by itself"
        record_property("note:contained", 1)

    async def test_hosts_that_were_granted_are_reached_and_no_others(
        self,
        sandbox: Sandbox,
        host: dict[str, object],
        record_property: Callable[[str, object], None],
    ) -> None:
        hosts = ("localhost",)
        async with serving() as granted:
            code = GRANTED.replace("{port}", str(granted.port))
            ended = await run(sandbox, code, Limits(seconds=20), hosts)
            assert ended.stdout.splitlines() == ["REACHED secret", "REACHED secret", "END"]
            assert granted.connections == 2
            assert (await run(sandbox, code, Limits(seconds=20))).code == 1
            assert granted.connections == 2, "without the grant there is no way"
        escaped = []
        for name in NETWORK:
            ended = await run(sandbox, _aimed(ESCAPES[name], host), Limits(seconds=10), hosts)
            escaped += [name] * ("ESCAPED" in ended.stdout)
        record_property("note:attacks", len(NETWORK) + 1)
        record_property("note:contained", len(NETWORK) + 1 - len(escaped))
        assert not escaped

    @pytest.mark.paced
    @pytest.mark.parametrize("name", GREEDY)
    async def test_whoever_takes_too_much_is_ended_and_nothing_is_left(
        self,
        sandbox: Sandbox,
        left: Callable[[], int],
        name: str,
        record_property: Callable[[str, object], None],
    ) -> None:
        record_property("note:attacks", 1)
        ended = await run(sandbox, GREEDY[name], SMALL)
        in_time(ended.seconds, SMALL.seconds + LATE)
        assert ended.code != 0 or "MemoryError" in ended.stderr
        assert len(ended.stdout) <= SMALL.output_bytes
        assert sum(map(len, ended.files.values())) <= SMALL.file_bytes
        wait_for(lambda: left() <= self.kept)
        record_property("note:contained", 1)

    @pytest.mark.paced
    async def test_a_daemon_ends_with_its_program(
        self,
        sandbox: Sandbox,
        left: Callable[[], int],
        record_property: Callable[[str, object], None],
    ) -> None:
        record_property("note:attacks", 1)
        ended = await run(sandbox, DAEMON, Limits())
        assert ended.stdout == "left it\n"
        in_time(ended.seconds, 60)
        wait_for(lambda: left() <= self.kept)
        record_property("note:contained", 1)

    @pytest.mark.paced
    async def test_a_cancelled_program_is_killed(
        self, sandbox: Sandbox, left: Callable[[], int]
    ) -> None:
        with within(LATE), anyio.move_on_after(0.5):
            await run(sandbox, "import time\ntime.sleep(60)", Limits())
        wait_for(lambda: left() <= self.kept)

    async def test_a_neighbour_does_not_feel_the_greedy(self, sandbox: Sandbox) -> None:
        """Another program beside a fork bomb and a memory hog ends as it does alone."""
        ended: list[Ended] = []

        async def neighbour() -> None:
            ended.append(await run(sandbox, "print(sum(range(1_000_000)))", Limits()))

        async def greedy(code: str) -> None:
            await run(sandbox, code, SMALL)

        async with anyio.create_task_group() as tasks:
            for name in ("forks", "memory of many", "disk"):
                tasks.start_soon(greedy, GREEDY[name])
            tasks.start_soon(neighbour)
        assert [(one.code, one.stdout) for one in ended] == [(0, "499999500000\n")]

    @pytest.mark.timeout(1_200)
    async def test_random_system_calls_get_nowhere(
        self,
        sandbox: Sandbox,
        left: Callable[[], int],
        host: dict[str, object],
        record_property: Callable[[str, object], None],
    ) -> None:
        """Each round is another seed; the host's things and a neighbour are as before after it."""
        until = time.monotonic() + fuzz_seconds()
        rounds = calls = 0
        mounts = _mounts()
        while time.monotonic() < until or not rounds:
            seed = int.from_bytes(os.urandom(4))
            code = _aimed(FUZZ.replace("{seed}", str(seed)), host)
            ended = await run(sandbox, code, Limits(seconds=5))
            assert "ESCAPED" not in ended.stdout, f"seed {seed}: {ended.stdout}"
            rounds += 1
            calls += sum(map(int, re.findall(r"^CALLS (\d+)$", ended.stdout, re.MULTILINE)))
            assert _mounts() == mounts, f"seed {seed}"
            assert (await run(sandbox, "print(1)", Limits())).stdout == "1\n", f"seed {seed}"
        assert calls, "no call was made"
        wait_for(lambda: left() <= self.kept)
        record_property("note:fuzz_rounds", rounds)
        record_property("note:fuzz_calls", calls)

    async def test_what_it_adds(
        self, sandbox: Sandbox, record_property: Callable[[str, object], None]
    ) -> None:
        bare, walled = [], []
        command = [python(), "-B", "-s", "-c", "print(1)"]
        for _ in range(sized(2, full=20)):
            began = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, env={})
            bare.append(time.perf_counter() - began)
            await anyio.sleep(0.05)  # a model takes far longer between two programs
            began = time.perf_counter()
            assert (await run(sandbox, "print(1)", Limits())).code == 0
            walled.append(time.perf_counter() - began)
        added = statistics.median(walled) - statistics.median(bare)
        record_property("note:ms_added", round(1000 * added, 1))


class TestBubblewrap(Battery):
    """On this machine."""

    @pytest.fixture(autouse=True)
    def own_users(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """User ids that no other process of these tests has, to count what is left of them."""
        monkeypatch.setattr(module, "_FIRST_USER", 0x3000_0000 + os.getpid() * 1_000)
        monkeypatch.setattr(module, "_USERS", 1_000)

    @pytest.fixture
    def sandbox(self) -> Sandbox:
        return Bubblewrap(parse_allow(LOOPBACK))

    @pytest.fixture
    def left(self) -> Callable[[], int]:
        users = range(module._FIRST_USER, module._FIRST_USER + module._USERS)
        return lambda: of_users(users)


class TestRemote(Battery):
    """Through a runner, in a process of its own; a shell waits there for the next program."""

    kept = 1

    @pytest.fixture
    def sandbox(self, runner: RunnerProcess) -> Sandbox:
        return Remote(runner.url, runner.key)

    @pytest.fixture
    def left(self, runner: RunnerProcess) -> Callable[[], int]:
        return lambda: below(runner.pid)


async def run(sandbox: Sandbox, code: str, limits: Limits, hosts: tuple[str, ...] = ()) -> Ended:
    return await sandbox.run(Program("python", code, {}, limits, hosts))


def _aimed(code: str, host: dict[str, object]) -> str:
    for word, value in host.items():
        code = code.replace(f"{{{word}}}", str(value))
    return code


def _mounts() -> list[str]:
    """The host's mounts and name, which no program may change."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return [*mounts, os.uname().nodename]


pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the filter of system calls is for x86-64"
)
