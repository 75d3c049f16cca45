"""R4: Valkey is killed, frozen and full, while clients go on starting runs.

A claim needs a message, so a worker that starts a run after an outage consumes again.
"""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.models import Run, RunEvent
from tests.api.server import WebServer
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.clients import Answer, ApiClient, CommandLine
from tests.chaos.couriers import COURIER, SHORT_SCRIPT, task
from tests.chaos.rig import Rig, rig, say
from tests.chaos.valkey_server import ValkeyServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from uuid import UUID

ACCEPT_SECONDS = 3.0
CONSUME_SECONDS = 10.0
#: After this a worker is taken to be deaf.
LISTEN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        kills: How often Valkey is killed.
        down: At least and at most so many seconds each time.
        frozen: Seconds that it is stopped.
        full: Seconds that it refuses to write.
    """

    workers: int
    kills: int
    down: tuple[float, float]
    frozen: float
    full: float


SIZES = {
    "small": Size(2, kills=1, down=(0.4, 0.8), frozen=1.5, full=0.8),
    "full": Size(3, kills=20, down=(0.0, 10.0), frozen=30.0, full=10.0),
}


@dataclass(frozen=True, slots=True)
class Outage:
    """One of them, and what came of it.

    Attributes:
        kind: ``killed``, ``frozen`` or ``full``.
        answers: Of the clients that asked meanwhile.
        longer: Seconds that the command line took longer than one at the same time whose broker
            was well: starting such a process takes a while by itself, more on a busy machine.
        silent: Seconds after its end until every worker had started a run; None: one did not.
    """

    kind: str
    seconds: float
    answers: tuple[Answer, ...]
    longer: float
    silent: float | None


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Take it away and judge."""
    how = SIZES[size]
    with ValkeyServer(directory / "valkey") as valkey:
        where = {"REDIS_URL": valkey.url}
        # As installed: no worker dies here, and no pause of the machine's disk may look like that.
        lease = {"HEARTBIT_LEASE_SECONDS": "10"}
        with (
            rig(
                directory, workers=how.workers, model_ms=50, effect_ms=50, settings=where | lease
            ) as on,
            _web(where) as web,
            ApiClient(web, on.workspace) as api,
        ):
            stage = _Stage(
                on, api, CommandLine(on.queue, settings=where), CommandLine(on.queue), f"r4-{seed}"
            )
            outages = stage.play(valkey, how, seed=seed)
            stage.finish()
        left = on.collect(stage.ids)
    verdict = judge(left)
    answers = [answer for outage in outages for answer in outage.answers]
    refused = [answer for answer in answers if answer.run is None]
    verdict.faults += [f"{answer.client} was refused: {answer.detail}" for answer in refused]
    verdict.faults += [
        f"after being {outage.kind} for {outage.seconds:.1f} s not every worker consumed again"
        for outage in outages
        if outage.silent is None
    ]
    for kind in ("killed", "frozen", "full"):
        asked = {answer.client for o in outages if o.kind == kind for answer in o.answers}
        verdict.invalid += [f"no {c} asked while it was {kind}" for c in {"api", "cli"} - asked]
    return report.row(
        "R4",
        runs=len(stage.ids),
        seed=seed,
        figure={
            **report.promises(verdict),
            "refused": len(refused),
            "accept_api_max_s": _slowest(answers, "api"),
            "accept_cli_longer_s": round(max(outage.longer for outage in outages), 2),
            "deaf_after_return": sum(outage.silent is None for outage in outages),
            "consume_again_max_s": round(max(outage.silent or 0 for outage in outages), 2),
        },
        target={
            "accept_api_max_s": ACCEPT_SECONDS,
            "accept_cli_longer_s": ACCEPT_SECONDS,
            "consume_again_max_s": CONSUME_SECONDS,
        },
        verdict=verdict,
        also={
            "outages": len(outages),
            "asked_meanwhile": len(answers),
            "accept_cli_max_s": _slowest(answers, "cli"),
        },
    )


def _slowest(answers: Sequence[Answer], client: str) -> float:
    times = [answer.seconds for answer in answers if answer.client == client]
    return round(max(times, default=0.0), 2)


@contextmanager
def _web(settings: dict[str, str]) -> Iterator[WebServer]:
    """A web process with these settings, which are not this process's."""
    server = WebServer()
    before = dict(os.environ)
    os.environ.update(settings)
    try:
        server.__enter__()
    finally:
        os.environ.clear()
        os.environ.update(before)
    try:
        yield server
    finally:
        server.__exit__(None, None, None)


@dataclass(slots=True)
class _Stage:
    """The clients, of whom ``well`` has another broker, and the runs that were accepted."""

    on: Rig
    api: ApiClient
    cli: CommandLine
    well: CommandLine
    name: str
    ids: list[UUID] = field(default_factory=list)
    asked: int = 0

    def play(self, valkey: ValkeyServer, how: Size, *, seed: int) -> list[Outage]:
        """Each kind of outage, one after the other."""
        choice = random.Random(seed)  # noqa: S311  repeatable, not secret
        plan = [("killed", choice.uniform(*how.down)) for _ in range(how.kills)]
        plan += [("frozen", how.frozen), ("full", how.full)]
        outages: list[Outage] = []
        self._listen(time.time())  # everybody works before it begins
        for kind, seconds in plan:
            down = getattr(valkey, kind)()
            answers, usual = self._during(down, seconds)
            silent = self._listen(time.time())
            longer = answers[-1].seconds - usual.seconds
            outages.append(Outage(kind, seconds, tuple(answers), longer, silent))
            say(
                f"{kind} {seconds:.1f} s: accepted within {_slowest(answers, 'api')} s, "
                f"by the command line {longer:.1f} s later than usual; all consume after {silent} s"
            )
        return outages

    def _during(
        self, down: AbstractContextManager[None], seconds: float
    ) -> tuple[list[Answer], Answer]:
        """The answers of clients that keep asking, the command line's last; and a usual one's."""
        answers: list[Answer] = []
        with ThreadPoolExecutor(2) as others:
            with down:
                over = time.monotonic() + seconds
                command = others.submit(self.cli.start, self._task())
                usual = others.submit(self.well.start, self._task())
                while True:
                    answers.append(self._ask())
                    if time.monotonic() + 0.25 >= over:
                        break
                    time.sleep(0.25)
                time.sleep(max(0.0, over - time.monotonic()))
            answers.append(self._count(command.result()))
            return answers, self._count(usual.result())

    def _listen(self, since: float) -> float | None:
        """Seconds until every worker has started a run; runs keep coming."""
        until = time.monotonic() + LISTEN_SECONDS
        while time.monotonic() < until:
            self.on.supervisor.tend()
            for _ in range(self.on.supervisor.count):
                self._ask()
            heard = self._heard(since)
            if len(heard) >= self.on.supervisor.count:
                return round(max(heard.values()) - since, 2)
            time.sleep(0.2)
        return None

    def _heard(self, since: float) -> dict[str, float]:
        """When each worker first started a run after a moment."""
        started = RunEvent.objects.filter(run_id__in=self.ids, type="run.started")
        heard: dict[str, float] = {}
        for worker, at in started.order_by("at").values_list("payload__worker", "at"):
            if at.timestamp() > since and worker in self.on.supervisor.names():
                heard.setdefault(worker, at.timestamp())
        return heard

    def _ask(self) -> Answer:
        return self._count(self.api.start(self._task(), COURIER))

    def _count(self, answer: Answer) -> Answer:
        self.ids += [answer.run] if answer.run else []
        return answer

    def _task(self) -> str:
        self.asked += 1
        return task(f"{self.name}-{self.asked}", SHORT_SCRIPT, effects_url=self.on.effects.url)

    def finish(self) -> None:
        """Wait for the runs."""
        quiet = time.monotonic() + 60
        while time.monotonic() < quiet:
            self.on.supervisor.tend()
            if Run.objects.filter(pk__in=self.ids, status__in=TERMINAL).count() == len(self.ids):
                return
            time.sleep(0.1)
