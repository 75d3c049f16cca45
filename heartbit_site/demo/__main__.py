"""`make demo`: the durable path of a run, then a look into the journal.

    QUESTION="Why is the sky blue?" python -m heartbit_site.demo

It starts `heartbit serve`, runs `heartbit submit --watch` and checks the journal: three sub-agents
that ran at the same time, each as a Celery task of its own, and completion tokens that equal the
count of the model's server.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from heartbit_site.base.errors import HeartbitError
from heartbit_site.cli.installation.startup import Starting, ensure_ready
from heartbit_site.cli.terminal.errors import CommandError, report
from heartbit_site.cli.terminal.output import note
from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.environment import read

QUESTION: Final = "Why are bees important for farming?"
MODEL: Final = "local:smollm2-135m"
LOG: Final = Path("build/demo-worker.log")
HEARTBIT: Final = (sys.executable, "-m", "heartbit_site.cli.main")
READY_SECONDS: Final = 180.0  # a busy machine takes a minute
END_SECONDS: Final = 30.0


def main() -> None:
    """Run the demo and exit: 0 when the run succeeded and its journal is as expected."""
    try:
        code = _demo(os.environ.get("QUESTION") or QUESTION)
    except (HeartbitError, EmbeddedError) as error:
        code = report(error, debug=False)
    sys.exit(code)


def _demo(question: str) -> int:
    Starting(read(), ["model"]).wait()
    ensure_ready("heartbit_site.demo.check")
    from heartbit_site.demo import check  # noqa: PLC0415  needs Django set up

    key = f"demo-{uuid4()}"
    with _worker():
        before = check.tokens_counted()
        note(f"Question: {question}")
        command = [*HEARTBIT, "submit", "--watch", "--model", MODEL, "--idempotency-key", key]
        code = subprocess.run([*command, "--", question], check=False).returncode  # noqa: S603
        if code:
            return code
        return check.verdict(key, before)


@contextlib.contextmanager
def _worker() -> Iterator[None]:
    """Run a worker process until the block ends."""
    LOG.parent.mkdir(exist_ok=True)
    note(f"Starting a worker (its log is {LOG}) ...")
    command = [*HEARTBIT, "serve"]
    with LOG.open("w") as log:
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603
    try:
        _wait_until_registered(worker)
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def _wait_until_registered(worker: subprocess.Popen[bytes]) -> None:
    from agents.models import WorkerHeartbeat  # noqa: PLC0415  needs Django set up

    deadline = time.monotonic() + READY_SECONDS
    while not any(row.name.endswith(f":{worker.pid}") for row in WorkerHeartbeat.objects.serving()):
        if worker.poll() is not None or time.monotonic() > deadline:
            last = LOG.read_text().strip().splitlines()[-1:] or ["it said nothing"]
            raise CommandError(f"The worker did not start: {last[0]}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
