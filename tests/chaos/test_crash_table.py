"""The table of crash points is whole, and the document shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.choices import RunKind
from heartbit_site.base.toolspec import Effect
from tests.chaos.crash_points import document
from tests.chaos.crash_points.table import (
    CALL_BOUNDARIES,
    SCRIPT_BOUNDARIES,
    TELL,
    cases,
    covering,
    expected,
)
from tests.chaos.crashes.boundary import MEANING, Boundary, planned, read_plan

DOCUMENT = Path(__file__).parents[2] / "docs/architecture/crash-points.md"


def test_every_boundary_class_and_number_of_deaths_is_a_case() -> None:
    told = [case for case in cases() if case.word == TELL]
    scripts = [case for case in told if case.in_script]
    assert len(scripts) == len(set(scripts)) == len(SCRIPT_BOUNDARIES) * len(Effect) * 2 == 40
    of_agents = [case for case in told if case.kind is RunKind.AGENT and not case.in_script]
    assert len(of_agents) == len(set(of_agents)) == len(Boundary) * len(Effect) * 2 == 96
    calls = [case for case in told if case.kind is RunKind.TOOL_CALL]
    assert len(calls) == len(set(calls)) == len(CALL_BOUNDARIES) * len(Effect) * 2 == 56
    assert set(MEANING) == set(Boundary)


def test_no_effect_that_may_happen_once_is_expected_twice_unless_somebody_wanted_it() -> None:
    once = (Effect.TRANSACTIONAL, Effect.AT_MOST_ONCE)
    wanted = [case for case in cases() if case.effect in once and case.word == TELL]
    assert all(expected(case).effects <= 1 for case in wanted)


def test_the_covering_cases_have_every_boundary_class_and_number_of_deaths() -> None:
    chosen = list(covering())
    assert {case.boundary for case in chosen} == set(Boundary)
    assert {case.effect for case in chosen} == set(Effect)
    assert {case.deaths for case in chosen} == {1, 2}
    assert {case.word for case in chosen} == {case.word for case in cases()}
    calls = [case for case in chosen if case.kind is RunKind.TOOL_CALL]
    assert {case.boundary for case in calls} == set(CALL_BOUNDARIES)
    assert {case.boundary for case in chosen if case.in_script} == set(SCRIPT_BOUNDARIES)


def test_a_plan_survives_being_written_into_a_task() -> None:
    deaths = (Boundary.CLAIMED, Boundary.ACTED)
    assert read_plan(f"{planned(deaths)}[[run: r]]") == deaths
    assert read_plan("[[run: r]] [[crash: acted]]") == ()
    with pytest.raises(ValueError, match="nowhere"):
        read_plan("[[crash: nowhere]] Go.")


def test_the_document_is_the_table() -> None:
    assert DOCUMENT.read_text() == document.text(), (
        "write it again: python -m tests.chaos.crash_points.document "
        "> docs/architecture/crash-points.md"
    )
