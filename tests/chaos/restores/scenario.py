"""R23: yesterday's backup is restored on another machine, whose broker is empty.

The backup is made under load. Then everything goes on to its end, as a day would; the ledger of
the effects server knows it. Elsewhere, workers and beat start: nothing may happen by itself that
has happened since. Then people release, decide and cancel.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.choices import RunStatus
from agents.models import Run, ToolCall
from heartbit_site.base.toolspec import Effect
from tests.chaos import records, report
from tests.chaos.checker import Verdict
from tests.chaos.couriers import SCRIPT, SHORT_SCRIPT
from tests.chaos.decider import Decider
from tests.chaos.load import Load
from tests.chaos.rig import Rig, rig, say
from tests.elsewhere import Elsewhere, other_machine
from tests.fleet import frozen, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Several sweeps long: what starts by itself, has.
QUIET_SECONDS: Final = 10.0
SECONDS: Final = 120.0
AT_MOST_ONCE: Final = Effect.AT_MOST_ONCE.value


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is.

    Attributes:
        runs: How many in all.
        at_once: How many are unfinished at the backup.
    """

    runs: int
    at_once: int
    script: Sequence[str]


SIZES: Final = {
    "small": Size(16, 10, SHORT_SCRIPT),
    "full": Size(300, 60, SCRIPT),
}


@dataclass(slots=True)
class Found:
    """What was wrong elsewhere, and how much there was."""

    live: int = 0
    held: int = 0
    at_rest: int = 0
    begun: int = 0
    lost: int = 0
    unmarked: int = 0
    by_itself: int = 0
    begun_again: int = 0
    stuck: int = 0
    approved: int = 0


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Back up under load, restore, and judge."""
    how = SIZES[size]
    found = Found()
    with rig(directory, workers=2, effect_ms=400) as on:
        load = Load(
            on.workspace,
            f"r23-{seed}",
            on.effects.url,
            runs=how.runs,
            at_once=how.at_once,
            careful_every=4,
            script=how.script,
        )
        file = _back_up(on, load, how)
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            load.finish(on.supervisor.tend)
        unfinished = load.unfinished()
        with other_machine(HEARTBIT_WORKSPACE=on.workspace.slug, **on.environment) as there:
            restored = there("restore", str(file), "--json")
            if restored.code:
                raise AssertionError(restored.err)
            _look(there, found, directory / "effects.jsonl", on.queue)
    verdict = Verdict()
    if unfinished:
        verdict.invalid.append(f"{unfinished} runs did not end after the backup")
    if found.held < how.at_once / 4 or not found.at_rest or not found.begun:
        verdict.invalid.append(
            f"{found.held} trees in flight, {found.at_rest} at rest, {found.begun} calls begun"
        )
    return report.row(
        "R23",
        runs=len(load.ids),
        seed=seed,
        figure={
            "lost": found.lost,
            "in_flight_unmarked": found.unmarked,
            "effects_by_themselves": found.by_itself,
            "begun_calls_made_again": found.begun_again,
            "stuck_after_release": found.stuck,
        },
        target={},
        verdict=verdict,
        also={
            "live_at_backup": found.live,
            "held": found.held,
            "at_rest": found.at_rest,
            "calls_begun_at_backup": found.begun,
            "approved_after_restore": found.approved,
        },
    )


def _back_up(on: Rig, load: Load, how: Size) -> Path:
    """Make the backup while calls are under way and careful runs wait for people."""
    file = on.directory / "backup.tar"
    origin = Elsewhere(on.directory, {**os.environ, **on.environment})

    def is_busy() -> bool:
        load.submit()
        on.supervisor.tend()
        runs = Run.objects.filter(pk__in=load.ids)
        moving = runs.filter(status__in=[RunStatus.QUEUED, RunStatus.RUNNING]).count()
        begun = ToolCall.objects.filter(run__in=load.ids, status="started", effect=AT_MOST_ONCE)
        waiting = runs.filter(status=RunStatus.WAITING)
        return moving > how.at_once / 3 and waiting.exists() and begun.exists()

    wait_until(is_busy, seconds=SECONDS, what="runs at work, and runs that wait for people")
    # Else the small load would be through before a slow machine has started the command.
    with frozen(on.supervisor):
        written = origin("backup", str(file))
    if written.code:
        raise AssertionError(written.err)
    return file


def _look(there: Elsewhere, found: Found, ledger: Path, queue: str) -> None:
    live = there.rows(
        "SELECT id, status, home FROM agents_run WHERE finished_at IS NULL AND queue = %s", queue
    )
    found.live = len(live)
    found.held = sum(home == "restored" for _, _, home in live)
    resting = [run for run, status, home in live if home == "fleet" and status == "waiting"]
    found.at_rest = len(resting)
    found.unmarked = sum(home == "fleet" and status != "waiting" for _, status, home in live)
    begun = _ops_of_begun(there)
    found.begun = len(begun)
    before = records.read_effects(ledger)
    with there.worker(f"{queue},system"), there.process("beat"):
        time.sleep(QUIET_SECONDS)
        found.by_itself = len(records.read_effects(ledger)) - len(before)
        for run in resting[:3]:
            found.approved += there("approve", str(run), "--yes").code == 0
        released = there("runs", "release", "--all", "--json")
        if released.code:
            raise AssertionError(released.err)
        _settle(there, queue, found)
        after = records.read_effects(ledger)
        again = [one.op for one in after[len(before) :] if one.tool != "store_item"]
        found.begun_again = sum(op in begun for op in again)
    ids = [run for run, _, _ in live]
    (kept,) = there.row("SELECT count(*) FROM agents_run WHERE id = ANY (%s)", ids)
    found.lost = len(ids) - kept


def _ops_of_begun(there: Elsewhere) -> set[str]:
    """The at-most-once calls that had an intent and no result in the backup."""
    rows = there.rows(
        "SELECT arguments::jsonb #>> '{json,op}' FROM agents_toolcall"
        " WHERE status = 'started' AND effect = 'at_most_once'"
    )
    return {str(op) for (op,) in rows}


def _settle(there: Elsewhere, queue: str, found: Found) -> None:
    """Wait until each live run has ended, or waits for a person."""
    moving = (
        "SELECT count(*) FROM agents_run WHERE finished_at IS NULL AND queue = %s"
        " AND status <> 'waiting'"
    )
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and there.row(moving, queue)[0]:
        time.sleep(0.5)
    (found.stuck,) = there.row(moving, queue)
    say(f"{found.held} held, {found.at_rest} at rest, {found.begun} calls had begun")
