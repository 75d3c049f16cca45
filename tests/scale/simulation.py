"""A fleet as a queue: ``python -m tests.scale.simulation`` prints the sizes of docs/scale.md.

A run alternates between a processor (of workers and PostgreSQL together: one pool, first come first
served) and waiting for its model, and holds a slot of a worker meanwhile.
"""

from __future__ import annotations

import heapq
import sys
from collections import deque
from dataclasses import dataclass
from typing import Final

DAY: Final = 86_400
#: CPU milliseconds of a run, all processes together, and its model calls one after the other
#: (docs/architecture/performance.md, "internal durable", and W7 for the team under load).
W1, W2, W4, W7 = (6.0, 1), (15.0, 2), (43.0, 4), (47.0, 4)


@dataclass(frozen=True, slots=True)
class Load:
    """Runs of one kind.

    Attributes:
        runs: How many.
        cpu_ms: Of each, spread evenly over its model calls and its end.
        calls: Model calls of each, one after the other.
        latency: Seconds of a model call.
        a_second: Arrivals; 0: all at once.
    """

    runs: int
    cpu_ms: float
    calls: int
    latency: float
    a_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rate of ended runs, and delays in seconds from arrival to end: median, 95th percentile."""

    a_second: float
    p50: float
    p95: float


def simulate(load: Load, *, cores: int, slots: int) -> Outcome:
    """Play a load on so many processors, with so many runs held by workers at once."""
    piece = load.cpu_ms / 1000 / (load.calls + 1)
    arrival = [number / load.a_second if load.a_second else 0.0 for number in range(load.runs)]
    # (moment, number, run, step); step -1 arrives, even ones want a processor, odd ones leave it
    events = [(at, run, run, -1) for run, at in enumerate(arrival)]
    heapq.heapify(events)
    count, delays, last = load.runs, [], 0.0
    no_slot: deque[int] = deque()
    no_core: deque[tuple[int, int]] = deque()
    while events:
        now, _, run, step = heapq.heappop(events)
        if step == -1:
            no_slot.append(run)
        elif step % 2 == 0:
            no_core.append((run, step))
        else:
            cores += 1
            if step == 2 * load.calls + 1:
                slots += 1
                delays.append(now - arrival[run])
                last = now
            else:
                count += 1
                heapq.heappush(events, (now + load.latency, count, run, step + 1))
        while slots and no_slot:
            slots -= 1
            no_core.append((no_slot.popleft(), 0))
        while cores and no_core:
            cores -= 1
            run, step = no_core.popleft()
            count += 1
            heapq.heappush(events, (now + piece, count, run, step + 1))
    delays.sort()
    return Outcome(load.runs / last, delays[len(delays) // 2], delays[int(0.95 * len(delays))])


def main() -> None:
    """Print the processors and slots of a million runs a day."""
    out = sys.stdout.write
    out("| runs | a second | processors busy | runs in flight | p95 with 2, 4, 8 processors, s |\n")
    out("| --- | --- | --- | --- | --- |\n")
    for name, (cpu_ms, calls) in {"W1": W1, "W2": W2, "W4": W4}.items():
        for peak in (1, 5):
            rate = 1_000_000 * peak / DAY
            load = Load(int(rate * 120), cpu_ms, calls, 5.0, rate)
            late = [simulate(load, cores=cores, slots=10_000).p95 for cores in (2, 4, 8)]
            out(
                f"| {name}{', five times the mean' * (peak > 1)} | {rate:.1f} | "
                f"{rate * cpu_ms / 1000:.2f} | {rate * calls * load.latency:.0f} | "
                f"{', '.join(f'{value:.1f}' for value in late)} |\n"
            )


if __name__ == "__main__":
    main()
