"""A scenario's verdict as a row of ``build/chaos.json`` and as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.chaos.checker import Verdict


def row(
    scenario: str, verdict: Verdict, *, runs: int, seed: int, recovery_s: float
) -> dict[str, Any]:
    """One row; ``pass`` only when every promise held and the scenario proved something."""
    figure = {
        "lost": verdict.lost,
        "model_calls_repeated": verdict.repeated,
        "effects_doubled": verdict.doubled,
        "approval_violations": verdict.unapproved,
        "recovery_p95_s": round(verdict.recovery_p95(), 2),
    }
    target = {
        "lost": 0,
        "model_calls_repeated": 0,
        "effects_doubled": 0,
        "approval_violations": 0,
        "recovery_p95_s": recovery_s,
    }
    held = all(figure[name] <= limit for name, limit in target.items())
    return {
        "scenario": scenario,
        "runs": runs,
        "figure": figure,
        "target": target,
        "pass": held and not verdict.faults and not verdict.invalid,
        "seed": seed,
        "also": {
            "kills": verdict.kills,
            "recoveries": len(verdict.recoveries),
            "model_calls_repeated_in_flight": verdict.repeated_in_flight,
            "idempotent_effects_repeated_with_key": verdict.repeats_with_key,
            "calls_uncertain": verdict.uncertain,
            "approvals_decided": verdict.decided,
            "faults": verdict.faults,
            "invalid": verdict.invalid,
        },
    }


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
        lines += [f"  {name:36} {also[name]:>8}" for name in also if isinstance(also[name], int)]
        lines += [f"  broken: {fault}" for fault in also["faults"]]
        lines += [f"  proves nothing: {reason}" for reason in also["invalid"]]
    return "\n".join(lines) + "\n"
