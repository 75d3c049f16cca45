"""R24: workers are killed while they read documents and extract memories.

Each second kill hits a worker whose process reads a part of a document, the others one that
extracts memories. Besides, a worker dies just before and just after each kind of transaction that
stores: what it wrote is at the database's server, committed or not.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from agents.choices import RunKind, RunStatus
from agents.models import Run
from heartbit_site.base import queues
from memory.models import Document
from tests.chaos import report, short_claims
from tests.chaos.checker import judge
from tests.chaos.knowing.judge import figures, held_by, killed_inside
from tests.chaos.knowing.load import prepare
from tests.chaos.records import Kill
from tests.chaos.rig import rig, say
from tests.kinds import dying

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.knowing.load import Load
    from tests.chaos.records import Records
    from tests.chaos.supervisor import Supervisor

#: A document is given up after three unfinished attempts. A planned death can take one, and a kill
#: one that begins just then: no worker is killed while a document has more attempts than this.
MOST_ATTEMPTS: Final = 1
#: A run whose workers die too often without its getting further is quarantined, as is promised: so
#: each kill hits few runs, and they have time for an answer in between.
CONCURRENCY: Final = 4
KILL_EVERY: Final = 1.5
_SCRIPT: Final = "reading_script.py"
_MOMENTS: Final = {
    short_claims.FOLDER: (short_claims.BEFORE_COMMIT, short_claims.AFTER_COMMIT),
    dying.FOLDER: (dying.BEFORE_COMMIT, dying.AFTER_COMMIT),
}


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a play.

    Attributes:
        documents: Documents; each third has several parts.
        runs: Runs whose memories are extracted.
        kills: Random kills of each of the two kinds at most.
        proof: Of each kind at least. The small size is read faster than a kill hits a reader on a
            quick machine; the deaths around a commit hit readers on each.
        quiet: Seconds without any progress after which the rest is lost.
    """

    documents: int
    runs: int
    kills: int
    proof: int
    quiet: float = 60.0


SIZES = {
    "small": Size(5, runs=8, kills=2, proof=0),
    "full": Size(45, runs=240, kills=6, proof=6),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Kill and judge."""
    how = SIZES[size]
    with rig(
        directory,
        model_ms=100,
        settings=_settings(directory),
        shared=_SHARED,
        concurrency=CONCURRENCY,
    ) as on:
        load = prepare(on, f"r24-{seed}")
        killer = _Killer(load, how.kills, random.Random(seed))  # noqa: S311  repeatable
        replaced = _perform(load, how, killer)
        left = _collected(load, killer)
        verdict = judge(left)
        extractions = [run for run in left.runs if run.name.endswith("-memories")]
        figure = {
            "lost": verdict.lost + how.runs - len(extractions),
            "model_calls_repeated": verdict.repeated,
            **figures(load, extractions, verdict),
        }
    inside = killed_inside(extractions, left.kills)
    died, planned = _died(directory), sum(map(len, _MOMENTS.values()))
    if died < planned:
        verdict.invalid.append(f"only {died} of {planned} workers died around a commit")
    for name, count in (("readers", killer.readers), ("extractors", inside)):
        if count < how.proof:
            verdict.invalid.append(f"only {count} {name} were killed")
    return report.row(
        "R24",
        runs=how.runs,
        seed=seed,
        figure=figure,
        target={},
        verdict=verdict,
        also={
            "documents": len(load.tokens),
            "passages": sum(map(len, load.tokens.values())),
            "memories": len(set(load.texts.values())),
            "documents_replaced_while_read": replaced,
            "kills": len(left.kills),
            "kills_while_reading": killer.readers,
            "kills_while_extracting": inside,
            "deaths_around_a_commit": died,
        },
    )


_SHARED: Final = (queues.MEMORY, queues.SYSTEM)


def _settings(directory: Path) -> dict[str, str]:
    """Return the workers' environment, and put the files of the planned deaths into place."""
    made = {"HEARTBIT_EXTRA_APPS": f"{short_claims.__name__},{dying.__name__}"}
    for variable, moments in _MOMENTS.items():
        for moment in moments:
            (directory / moment).touch()
        made[variable] = str(directory)
    return made


def _perform(load: Load, how: Size, killer: _Killer) -> int:
    """Give all of it to the workers, and kill until nothing is left; return the replaced ones."""
    for _ in chain(load.add_documents(how.documents), load.add_runs(how.runs)):
        killer.tend()  # workers die already, and when is to be known
    replaced, seen, changed = 0, (0, 0, 0), time.monotonic()
    while (now := load.unfinished())[:2] != (0, 0) and time.monotonic() < changed + how.quiet:
        if now != seen:
            seen, changed = now, time.monotonic()
        load.wake()
        replaced += load.replace_documents(killer.choice)
        killer.look()
        time.sleep(0.02)
    return replaced


@dataclass(slots=True)
class _Killer:
    """Kills a worker that reads, then one that extracts, and so on.

    Attributes:
        readers: Kills that hit a process in the middle of a document's part.
        deaths: Planned deaths, with their process ids and times.
    """

    load: Load
    most: int
    choice: random.Random
    kills: list[Kill] = field(default_factory=list)
    readers: int = 0
    extractors: int = 0
    deaths: list[tuple[int, float]] = field(default_factory=list)
    _next_at: float = 0.0

    @property
    def _supervisor(self) -> Supervisor:
        return self.load.on.supervisor

    def tend(self) -> None:
        """Replace workers that have ended, and note the planned deaths."""
        self.deaths += [(pid, time.time()) for pid in self._supervisor.tend()]

    def look(self) -> None:
        """Kill if enough workers are up."""
        self.tend()
        if time.monotonic() < self._next_at or self._supervisor.registered() < 2:
            return
        mine = Run.objects.filter(workspace=self.load.on.workspace)
        again = mine.filter(status=RunStatus.RUNNING, crashes__gt=0)
        tried = Document.objects.claimed().filter(base=self.load.base, attempts__gt=MOST_ATTEMPTS)
        if again.exists() or tried.exists():
            return
        if self.readers < self.most and self.readers <= self.extractors and self._kill_reader():
            return
        if self.extractors < self.most:
            extractions = mine.filter(kind=RunKind.EXTRACTION)
            kill = self._supervisor.kill_one(self.choice, extractions)
            if kill is not None:
                self.extractors += 1
                self._note(kill, "extracts")

    def _kill_reader(self) -> bool:
        kill = self._supervisor.kill_parent(self.choice, _SCRIPT)
        if kill is not None:
            self.readers += 1
            self._note(kill, "reads")
        return kill is not None

    def _note(self, kill: Kill, what: str) -> None:
        self.kills.append(kill)
        self._next_at = time.monotonic() + KILL_EVERY
        say(f"killed worker {kill.worker}, which {what}")


def _collected(load: Load, killer: _Killer) -> Records:
    """Return the records of runs and extractions, with the planned deaths among the kills."""
    names = load.extractions()
    left = load.on.collect([*load.ids, *map(UUID, names)], kills=killer.kills)
    runs = tuple(replace(run, name=names.get(run.id, run.name)) for run in left.runs)
    deaths = [Kill(at, f"{pid}", held_by(runs, pid, at)) for pid, at in killer.deaths]
    others = max(0, left.own_exits - _died(load.on.directory))
    return replace(left, runs=runs, kills=(*left.kills, *deaths), own_exits=others)


def _died(directory: Path) -> int:
    """Return the number of planned deaths that happened."""
    moments = [moment for each in _MOMENTS.values() for moment in each]
    return sum(not (directory / moment).exists() for moment in moments)
