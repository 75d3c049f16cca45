"""The judge of R15 finds what was planted, the scripts are the modes', and the document is both."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chaos.model_faults import document, truncation
from tests.chaos.model_faults.judge import judge
from tests.chaos.model_faults.modes import BY_NAME, CUT, MODES
from tests.chaos.model_faults.observed import Case, Observed, Request
from tests.chaos.model_faults.scripts import SCRIPTS

if TYPE_CHECKING:
    from tests.chaos.model_faults.mode import Mode

DOCUMENT = Path(__file__).parents[2] / "docs/architecture/model-faults.md"
ANSWERED: tuple[str, dict[str, Any], float] = ("model.answered", {"turn": 1}, 2.0)
CUT_OFF: tuple[str, dict[str, Any], float] = ("model.interrupted", {"turn": 1}, 1.5)


def case(mode: Mode) -> Case:
    return Case(mode.name, "openai", "environment", "openai:gpt-4o")


def asked(*moments: float) -> tuple[Request, ...]:
    return tuple(Request(0, at) for at in moments)


def recovered(*, pause: float = 0.1, **changes: Any) -> Observed:
    """A run whose first call failed and whose second one succeeded."""
    sound = Observed(
        status="succeeded",
        output="All is well.",
        wall=1.0,
        tokens=(12, 5),
        usage=((12, 5, 0, Decimal("0.1")),),
        journal=(("run.created", {}, 1.0), ANSWERED, ("run.succeeded", {}, 2.0)),
        seqs=(1, 2, 3),
        requests=asked(1.0, 1.0 + pause),
    )
    return replace(sound, **changes)


def called(**changes: Any) -> Observed:
    """A run whose two calls acted, after a first answer that was cut."""
    second: tuple[str, dict[str, Any], float] = ("model.answered", {"turn": 2}, 3.0)
    end: tuple[str, dict[str, Any], float] = ("run.succeeded", {}, 3.0)
    sound = recovered(
        output="Done.",
        journal=(ANSWERED, second, end),
        usage=((12, 5, 0, None),) * 2,
        tokens=(24, 10),
        requests=(*asked(1.0, 1.1), Request(1, 1.2)),
        calls=(("ok", "stored"), ("ok", "stored")),
        effects=("a/0", "a/1"),
    )
    return replace(sound, **changes)


def found(name: str, seen: Observed) -> str:
    mode = BY_NAME[name]
    return "\n".join(judge(mode, case(mode), seen))


def test_what_is_documented_passes() -> None:
    assert not found("500-once", recovered())
    assert not found("second-call-cut", called())
    assert not found("429-seconds", recovered(pause=5.3))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"status": "running"}, "is running, not succeeded"),
        ({"status": "failed", "error": {"kind": "internal"}}, "failed by 'internal'"),
        ({"output": "All is w"}, "says 'All is w'"),
        ({"wall": 36.0}, "took 36.0 s"),
        ({"served_after": False}, "served no other run"),
        ({"unreadable": "KeyError"}, "be read"),
        ({"seqs": (1, 2, 4)}, "gaps"),
        ({"journal": (ANSWERED,)}, "ends as []"),
        ({"journal": (ANSWERED, ANSWERED, ("run.succeeded", {}, 2.0))}, "turns [1, 1]"),
        ({"requests": asked(1.0)}, "asked the server 1 times"),
        ({"requests": asked(1.0, 1.1, 1.2, 1.3)}, "tried 4 times"),
        ({"effects": ("a/0",)}, "acted 1 times, not 0"),
        ({"tokens": (-1, 5), "usage": ((-1, 5, 0, None),)}, "counts -1 tokens"),
        ({"usage": ((12, 5, 0, Decimal(-1)),)}, "cost -1"),
        ({"tokens": (13, 5)}, "other tokens than the ledger"),
        ({"usage": ()}, "0 rows in the ledger"),
        (
            {"usage": ((12, 5, 0, None),) * 2, "tokens": (24, 10)},
            "2 rows in the ledger for 1 answers",
        ),
        ({"journal": (CUT_OFF, CUT_OFF, ANSWERED)}, "1 answers and 2 cut off of 2 requests"),
    ],
)
def test_a_planted_fault_is_found(changes: dict[str, Any], fault: str) -> None:
    assert fault in found("500-once", recovered(**changes))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"effects": ("a/0", "a/1", "a/0")}, "acted twice"),
        ({"effects": ("a/0", "a/1", "a/2")}, "acted 3 times, not 2"),
        ({"calls": (("ok", "stored"),)}, "has 1 calls that are ok"),
    ],
)
def test_a_partial_answer_that_acted_is_found(changes: dict[str, Any], fault: str) -> None:
    assert fault in found("second-call-cut", called(**changes))


@pytest.mark.parametrize("pause", [4.9, 8.6])
def test_a_pause_that_was_not_kept_is_found(pause: float) -> None:
    assert "came back after" in found("429-seconds", recovered(pause=pause))


def test_a_long_pause_that_held_a_worker_is_found() -> None:
    faults = found("429-long", recovered(pause=12.2))
    assert "suspended 0 times" in faults
    assert "never seen waiting without a worker" in faults


def test_every_mode_has_a_script_and_every_script_a_mode() -> None:
    assert {mode.name for mode in MODES} | {"sound", CUT.name} == set(SCRIPTS)
    assert len(BY_NAME) == len(MODES)


def test_the_sweep_cuts_an_answer_of_two_kilobytes_at_every_byte() -> None:
    cuts = list(truncation.cuts(1, 4))
    for dialect, kind in {(cut.dialect, cut.detail.partition("@")[0]) for cut in cuts}:
        details = [cut.detail for cut in cuts if cut.dialect == dialect]
        offsets = sorted(
            int(offset)
            for detail in details
            if detail.startswith(kind)
            for offset in detail.partition("@")[2].split(".")
        )
        assert offsets == list(range(len(offsets)))
        assert 1_400 <= len(offsets) <= 3_000


def test_the_document_is_made_from_the_modes() -> None:
    assert DOCUMENT.read_text() == document.text(), (
        "make it again: python -m tests.chaos.model_faults.document "
        "> docs/architecture/model-faults.md"
    )
