"""Change the core a little, many times, and see that a test notices: ``make mutants``.

    python -m tests.mutants                      # a sample of every area
    python -m tests.mutants --only loop,auth --sample 30
    python -m tests.mutants --at agents/loop/limits.py:58

Exit code 0: at least 90 of 100 mutants die in the tests of their area. A mutant counts as dead only
if a test failed; one that hangs, or that keeps pytest from playing the tests, is not counted.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import TYPE_CHECKING

from tests.bench.endings import ended_with_children
from tests.mutants.areas import AREAS
from tests.mutants.play import GREEN, ROOT, Pytest, Verdict, repository, seconds_for

if TYPE_CHECKING:
    from tests.mutants.areas import Area
    from tests.mutants.mutant import Mutant

ENOUGH = 0.9  # of the mutants have to die


def main() -> int:
    """Play the mutants that were asked for."""
    options = _options()
    counts = dict.fromkeys(Verdict, 0)
    with repository() as copy, Pytest(copy) as pytest, ended_with_children():
        for name in options.only:
            area = AREAS[name]
            chosen = _chosen(area, options)
            if not chosen:
                continue
            began = time.monotonic()
            code, output = pytest.run(area.tests)
            seconds = seconds_for(time.monotonic() - began)
            if code != GREEN:
                sys.stdout.write(f"{output}\n{name}: the tests fail without a mutant already.\n")
                return 2
            found = _play_sample(pytest, area, chosen, most=options.sample, seconds=seconds)
            counts = {verdict: counts[verdict] + found[verdict] for verdict in Verdict}
    dead, valid = counts[Verdict.DEAD], counts[Verdict.DEAD] + counts[Verdict.ALIVE]
    share = dead / valid if valid else 1.0
    sys.stdout.write(
        f"{dead} of {valid} mutants died ({share:.0%}). Not counted: "
        f"{counts[Verdict.TIMED_OUT]} timed out, {counts[Verdict.STILLBORN]} were stillborn.\n"
    )
    return 0 if share >= ENOUGH else 1


def _play_sample(
    pytest: Pytest, area: Area, chosen: list[Mutant], *, most: int, seconds: float
) -> dict[Verdict, int]:
    """Play mutants until ``most`` were not stillborn, and count the verdicts."""
    counts = dict.fromkeys(Verdict, 0)
    for mutant in chosen:
        if sum(counts.values()) - counts[Verdict.STILLBORN] == most:
            break
        began = time.monotonic()
        described = mutant.described((pytest.copy / mutant.path).read_bytes())
        verdict = pytest.play(mutant, area.tests, seconds=seconds)
        counts[verdict] += 1
        took = time.monotonic() - began
        sys.stdout.write(f"{verdict.value:9} {took:5.0f} s  {described}\n")
        sys.stdout.flush()
    return counts


def _chosen(area: Area, options: argparse.Namespace) -> list[Mutant]:
    """Return the area's mutants in the order in which they are played."""
    mutants = area.mutants(ROOT)
    if options.at:
        return [mutant for mutant in mutants if f"{mutant.path}:{mutant.line}" in options.at]
    random.Random(options.seed).shuffle(mutants)  # noqa: S311  a sample, not a secret
    return mutants


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(AREAS))
    parser.add_argument("--sample", type=int, default=15, help="mutants of each area")
    parser.add_argument("--seed", default="heartbit", help="chooses the sample")
    parser.add_argument("--at", action="append", default=[], help="path:line, instead of a sample")
    options = parser.parse_args()
    if unknown := set(options.only) - AREAS.keys():
        parser.error(f"no area {sorted(unknown)}: choose from {', '.join(AREAS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
