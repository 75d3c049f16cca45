"""Clients that ask with an idempotency key until they have an answer, at a steady pace."""

from __future__ import annotations

import itertools
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from agents.models import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.chaos.clients import Answer, ApiClient

AGAIN_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Wish:
    """A run somebody wants, and every answer it took to get it."""

    key: str
    task: str
    answers: tuple[Answer, ...]

    @property
    def run(self) -> UUID | None:
        """What the client was told at last."""
        return self.answers[-1].run


@dataclass(slots=True)
class Clients:
    """Some threads that ask for runs, one a thread and time.

    Attributes:
        per_second: How many runs are asked for a second, together.
        give_up: Seconds after which a client stops asking for one.
    """

    api: ApiClient
    agent: str
    task: Callable[[int], str]
    name: str
    runs: int
    per_second: float
    threads: int = 4
    give_up: float = 60.0
    _wishes: list[Wish] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _began: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)
    _pool: ThreadPoolExecutor = field(init=False)
    _work: list[Future[None]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="client")
        self._work = [self._pool.submit(self._ask_on) for _ in range(self.threads)]
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._over.set()
        self._pool.shutdown()

    def asking(self) -> bool:
        """Whether runs are still to come."""
        return not all(work.done() for work in self._work)

    def wishes(self) -> list[Wish]:
        """All of them, once nobody asks any more.

        Raises:
            Exception: What a client's thread died of.
        """
        for work in self._work:
            work.result()
        return list(self._wishes)

    def _ask_on(self) -> None:
        for number in self._numbers:
            due = self._began + number / self.per_second
            if number >= self.runs or self._over.wait(max(0.0, due - time.monotonic())):
                return
            self._wishes.append(self._insist(f"{self.name}-{number}", self.task(number)))

    def _insist(self, key: str, task: str) -> Wish:
        answers: list[Answer] = []
        until = time.monotonic() + self.give_up
        while not self._over.is_set():
            answers.append(self.api.start(task, self.agent, key=key))
            if answers[-1].run is not None or time.monotonic() > until:
                break
            time.sleep(AGAIN_SECONDS)
        return Wish(key, task, tuple(answers))


def broken_keys(
    wishes: Sequence[Wish], api: ApiClient, agent: str, workspace: Workspace
) -> Iterator[str]:
    """Where a key is not about one and the same run, asked once more in the end."""
    made: dict[str, set[UUID]] = defaultdict(set)
    runs = Run.objects.filter(workspace=workspace)
    for key, run_id in runs.values_list("idempotency_key", "pk"):
        made[key or ""].add(run_id)
    with ThreadPoolExecutor(8) as clients:
        said = clients.map(lambda wish: api.start(wish.task, agent, key=wish.key).run, wishes)
        for wish, again in zip(wishes, said, strict=True):
            ids = made[wish.key]
            if len({*ids, again, wish.run}) != 1:
                yield f"the key {wish.key} gave {wish.run}, then {again}; it has {len(ids)} runs"
