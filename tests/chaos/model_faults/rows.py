"""R15's row for programs, and a line a mode for people."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from tests.chaos.model_faults.modes import CUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.chaos.model_faults.observed import Observed
    from tests.chaos.model_faults.stage import Played


@dataclass(frozen=True, slots=True)
class Result:
    """A run and what is wrong with it."""

    played: Played
    seen: Observed
    faults: tuple[str, ...]


def row(results: Sequence[Result], *, seconds: float) -> dict[str, Any]:
    """The scenario's row: figures, targets, and a line for each mode."""
    broken = [each for each in results if each.faults]
    figure = {
        "runs_not_as_documented": len(broken),
        "runs_stuck": sum(each.seen.status not in TERMINAL for each in results),
        "runs_failed_inside": sum(each.seen.error.get("kind") == "internal" for each in results),
        "runs_too_late": sum(each.seen.wall > each.played.mode.longest for each in results),
        "retries_beyond_policy": sum(_excess(each) for each in results),
        "effects_not_asked_for": sum(_surplus(each) for each in results),
        "processes_lost": sum(not each.seen.served_after for each in results),
    }
    swept = [each.played.mode for each in results if each.played.mode.name == CUT.name]
    sweep = sum(mode.attempts for mode in swept)
    return {
        "scenario": "R15",
        "runs": len(results),
        "figure": figure,
        "target": dict.fromkeys(figure, 0),
        "pass": not any(figure.values()) and sweep > 0,
        "seed": 0,
        "lines": list(lines(results)),
        "also": {
            "modes": len({each.played.mode.name for each in results}),
            "answers_cut": sweep,
            "requests": sum(len(each.seen.requests) for each in results),
            "effects": sum(len(each.seen.effects) for each in results),
            "seconds": round(seconds),
            "faults": [
                f"{each.played.case.name} {fault}" for each in broken for fault in each.faults
            ],
            "invalid": [] if sweep else ["no answer was cut"],
        },
    }


def lines(results: Iterable[Result]) -> Iterator[str]:
    """One line for each mode."""
    by_mode: dict[str, list[Result]] = defaultdict(list)
    for each in results:
        by_mode[each.played.mode.name].append(each)
    for name, group in by_mode.items():
        state = "FAIL" if any(each.faults for each in group) else "ok"
        mode, longest = group[0].played.mode, max(each.seen.wall for each in group)
        calls = sorted({len(each.seen.requests) for each in group})
        end = f"{mode.ends} {mode.kind}".strip()
        asked = "-".join(map(str, dict.fromkeys((calls[0], calls[-1]))))
        yield (
            f"{state:4} {name:20} {end:16} {len(group):5} runs  {asked:>5} requests  "
            f"{longest:5.1f} s at most"
        )


def _excess(result: Result) -> int:
    first = sum(request.turn == 0 for request in result.seen.requests)
    return max(0, first - 1 - result.played.mode.attempts)


def _surplus(result: Result) -> int:
    return max(0, len(result.seen.effects) - result.played.mode.effects)
