"""R20 as a scenario: so many examples of so many steps, or the first that breaks a promise."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from agents.actions.write_agents import create_default_team
from heartbit_site.base.models import Workspace
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.machine import workers
from tests.chaos.machine.machine import RunMachine

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Size:
    """How much is tried."""

    examples: int
    steps: int


ENDED = 0.1  # most examples end their steps in the middle of a run
SIZES = {"small": Size(examples=25, steps=30), "full": Size(examples=500, steps=60)}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Try, and judge."""
    how = SIZES[size]
    slug = f"r20-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)
    create_default_team(workspace)
    ends: list[str] = []

    class Counted(RunMachine):
        def teardown(self) -> None:
            ends.append(self.ended)
            workers.forget_all()

    Counted.workspace = workspace
    verdict = Verdict()
    try:
        run_state_machine_as_test(
            seeded(seed)(Counted),
            settings=settings(
                max_examples=how.examples,
                stateful_step_count=how.steps,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            ),
        )
    except AssertionError as broken:
        notes = "\n".join(getattr(broken, "__notes__", ()))
        (directory / "steps.txt").write_text(notes)
        verdict.faults.append(f"a promise is broken: {broken} (see steps.txt)")
    if len(ends) < how.examples:
        verdict.invalid.append(f"only {len(ends)} of {how.examples} examples were tried")
    if sum(map(bool, ends)) < ENDED * len(ends):
        verdict.invalid.append(f"only {sum(map(bool, ends))} of {len(ends)} runs came to an end")
    return report.row(
        "R20",
        runs=len(ends),
        seed=seed,
        figure={"invariants_broken": len(verdict.faults)},
        target={},
        verdict=verdict,
        also={"steps_an_example": how.steps, **Counter(f"ended_{end}" for end in ends if end)},
    )
