"""A scenario's verdict as a row of ``build/chaos.json`` and as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.pace import slowness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.chaos.checker import Verdict


def promises(verdict: Verdict) -> dict[str, float]:
    """The figures of every scenario whose runs act on the outside world; the targets are 0."""
    return {
        "lost": verdict.lost,
        "model_calls_repeated": verdict.repeated,
        "effects_doubled": verdict.doubled,
        "approval_violations": verdict.unapproved,
    }


def row(
    scenario: str,
    *,
    runs: int,
    seed: int,
    figure: Mapping[str, float],
    target: Mapping[str, float],
    verdict: Verdict,
    also: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """One row; ``pass`` only when every promise held and the scenario proved something.

    Args:
        scenario: Its number, "R1".
        runs: How many were started.
        seed: What its dice were thrown with.
        figure: What was measured.
        target: The most each figure may be; 0 for those that it does not name. Seconds, whose names
            end in ``_s``, are those of the reference processor: a slower one has longer.
        verdict: The checker's, with the scenario's own faults and reasons to be invalid added.
        also: More to know, without a target.
    """
    target = {name: _on_this_processor(name, target.get(name, 0)) for name in figure}
    held = all(figure[name] <= limit for name, limit in target.items())
    return {
        "scenario": scenario,
        "runs": runs,
        "figure": dict(figure),
        "target": target,
        "pass": held and not verdict.faults and not verdict.invalid,
        "seed": seed,
        "also": {
            **(also or {}),
            "model_calls_repeated_in_flight": verdict.repeated_in_flight,
            "idempotent_effects_repeated_with_key": verdict.repeats_with_key,
            "calls_uncertain": verdict.uncertain,
            "approvals_decided": verdict.decided,
            "faults": verdict.faults,
            "invalid": verdict.invalid,
        },
    }


def _on_this_processor(name: str, limit: float) -> float:
    return round(limit * slowness(), 2) if name.endswith("_s") else limit


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as text."""
    lines = []
    for each in rows:
        state = "pass" if each["pass"] else "FAIL"
        lines.append(f"{each['scenario']}  {state}  {each['runs']} runs  seed {each['seed']}")
        lines += [f"  {line}" for line in each.get("lines", ())]
        lines += [
            f"  {name:36} {value:>8}  target <= {each['target'][name]}"
            for name, value in each["figure"].items()
        ]
        also = each["also"]
        lines += [
            f"  {name:36} {also[name]:>8}" for name in also if isinstance(also[name], int | float)
        ]
        lines += [f"  broken: {fault}" for fault in also["faults"]]
        lines += [f"  proves nothing: {reason}" for reason in also["invalid"]]
    return "\n".join(lines) + "\n"
