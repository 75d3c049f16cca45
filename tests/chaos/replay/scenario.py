"""R19: what runs of every shape did next, they would do next again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.replay.kept import load
from tests.chaos.replay.replay import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.replay.replay import Outcome

ENOUGH = 200


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Replay all of them, whatever the size; there is nothing to throw dice for."""
    outcomes = asyncio.run(_replayed())
    verdict = Verdict(faults=[words for outcome in outcomes for words in outcome.different])
    if len(outcomes) < ENOUGH:
        verdict.invalid.append(f"only {len(outcomes)} journals were kept")
    return report.row(
        "R19",
        runs=len(outcomes),
        seed=seed,
        figure={"decisions_different": len(verdict.faults)},
        target={},
        verdict=verdict,
        also={
            "decisions": 2 * sum(outcome.points for outcome in outcomes),
            "journals_refused": sum(bool(outcome.refused) for outcome in outcomes),
        },
    )


async def _replayed() -> list[Outcome]:
    return [await replay(kept) for kept in load()]
