"""How much is measured: the full size, and one for a quick look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes; those of the full plan are the targets'.

    Attributes:
        rounds: How often everything is measured; the median counts (``tests.bench.rounds``).
        runs: Measured runs of each door and floor (W1 to W4), a round.
        warm_up: Runs before them that do not count, at least,
        warm_seconds: and for at least so long: each of a pool's connections plans a statement
            anew a dozen times before it keeps a plan.
        cost_runs: Runs of the block that costs are averaged over, in the first round; 0: not
            measured.
        profile_seconds: How long a missed target is profiled, in the first round; 0: never.
        storm_runs: Runs of W7 and W8, submitted at once.
        storm_latency_ms: The model's, in W7 and W8.
        in_flight: Runs that one worker holds (INFLIGHT).
        in_flight_seconds: The model's latency then.
        waiting: Rows of waiting runs (WAITING).
        idle_seconds: How long a processor's idling is watched, three times.
        rate_seconds: The window in which finished runs are counted (RATE).
        turns: Of one long run (LONG).
        long_runs: How many such runs.
        finished: Rows of finished runs (GROWTH).
        insert_seconds: After this time no more of them are inserted.
        health_runs: Runs that the page of Health reads (HEALTH).
        large_runs: Finished runs behind every page (LARGE).
        waiters: How many clients wait for results at most (WAITERS).
        watchers: How many watch one run (TOKENS).
        tokens: Pieces that the model sends then,
        token_seconds: over so long.
        memories: The largest number of memories (RECALL).
        recalls: Measured recalls of each, and searches (KNOWLEDGE).
        pages: Pages of a document that is read (KNOWLEDGE).
        passages: Passages that are searched then.
        telemetry_runs: Runs of each of two workers (TELEMETRY).
    """

    rounds: int = 3
    runs: int = 30
    warm_up: int = 15
    warm_seconds: float = 3
    cost_runs: int = 100
    profile_seconds: float = 10
    storm_runs: int = 200
    storm_latency_ms: float = 500
    in_flight: int = 1000
    in_flight_seconds: float = 20
    waiting: int = 100_000
    idle_seconds: float = 10
    rate_seconds: float = 15
    turns: int = 1000
    long_runs: int = 2
    finished: int = 1_000_000
    insert_seconds: float = 300
    health_runs: int = 100_000
    large_runs: int = 1_000_000
    waiters: int = 1000
    watchers: int = 100
    tokens: int = 400
    token_seconds: float = 10
    memories: int = 1_000_000
    recalls: int = 100
    pages: int = 2_000
    passages: int = 100_000
    telemetry_runs: int = 1500


#: Whether everything works; its figures say little.
QUICK = Plan(
    rounds=1,
    runs=10,
    warm_up=3,
    warm_seconds=0,
    cost_runs=0,
    profile_seconds=0,
    storm_runs=40,
    in_flight=100,
    in_flight_seconds=3,
    waiting=5_000,
    idle_seconds=2,
    rate_seconds=3,
    turns=60,
    long_runs=1,
    finished=20_000,
    health_runs=5_000,
    large_runs=20_000,
    waiters=64,
    watchers=10,
    tokens=50,
    token_seconds=2,
    memories=10_000,
    recalls=10,
    pages=100,
    passages=2_000,
    telemetry_runs=40,
)
