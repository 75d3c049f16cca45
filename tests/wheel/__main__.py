"""Build the wheel, install it outside the checkout and use it: ``python -m tests.wheel``.

A fresh environment holds what the wheel declares and nothing else, in a directory that knows
nothing of the checkout. There `heartbit up` has to serve the pages with their files, and the local
model has to answer. Nothing stays behind; a failure prints what the processes wrote.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.testing.page import written_test
from tests.wheel.environment import EXTRAS, Environment
from tests.wheel.pages import Pages
from tests.wheel.processes import Up, leftovers

ANSWER_SECONDS = 180
COMMAND_SECONDS = 60


def main() -> int:
    """Run the smoke; 1 when something is wrong."""
    began = time.monotonic()
    # Short, because unix sockets live in it, and passable, because root's servers are other users'.
    place = Path(tempfile.mkdtemp(prefix="hbw", dir="/tmp"))
    place.chmod(0o755)
    environment = Environment(place)
    try:
        _play(environment)
    except Exception as error:  # noqa: BLE001  reported with what the processes wrote
        sys.stdout.write(f"{environment.said()}\nFAILED: {type(error).__name__}: {error}\n")
        return 1
    finally:
        for process in leftovers(place):
            process.kill()
        shutil.rmtree(place, ignore_errors=True)
    sys.stdout.write(f"The wheel works ({time.monotonic() - began:.0f} s).\n")
    return 0


def _play(environment: Environment) -> None:
    with _step("built the wheel"):
        environment.build()
    with _step("installed it with what it declares"):
        environment.install()
    with _step("imported every package from the environment"):
        environment.check_origin()
    with _step("installed the local model as the hint says"):
        environment.install_local_model()
    with Up(environment) as up:
        with _step("started `heartbit up`"):
            up.wait()
        with _step("set the first admin's password"):
            command = ("users", "password", "admin", "--generate")
            password = environment.heartbit(*command, seconds=COMMAND_SECONDS).strip()
        with _step("fetched the pages with their files"), Pages(up.url) as pages:
            pages.log_in("admin", password)
            files = [*pages.visit("/login/"), *pages.visit("/"), *pages.visit("/admin/")]
            kinds = {kind for _, kind in files}
            _check({"text/css", "text/javascript"} <= kinds, f"only {sorted(kinds)} were served")
            _check("# Web pages" in pages.read("/docs/howto/web.md"), "no documentation")
        with _step("had a run answered by the local model"):
            task = ("submit", "--watch", "--agent", "writer", "Why is the sky blue?")
            _check(bool(environment.heartbit(*task, seconds=ANSWER_SECONDS).strip()), "no answer")
        with _step("ended it with one Ctrl-C"):
            up.end()
    for extra in EXTRAS:
        with _step(f"installed the extra `{extra}` as the hint says"):
            environment.install_extra(extra)
    with _step("played the tests of the page on testing agents"):
        _check("1 passed" in environment.play_tests(written_test()), "they did not pass")
    _check(not leftovers(environment.place), "processes are left")


def _check(good: bool, problem: str) -> None:  # noqa: FBT001  an assertion that -O keeps
    if not good:
        raise AssertionError(problem)


class _step:
    """A line with the time that a step took, once it is done."""

    def __init__(self, done: str) -> None:
        self._done = done

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, kind: object, *_: object) -> None:
        mark = "BAD" if kind else "ok "
        sys.stdout.write(f"  {mark} {self._done} ({time.monotonic() - self._began:.1f} s)\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
