"""Every kind of run that Heartbit has, as the list of kinds names its parts."""

from __future__ import annotations

import inspect

import pytest

from agents.choices import RunKind
from agents.definitions.kinds import KINDS, defined_kinds, part_of
from agents.live.view import RunView
from agents.loop.state import RunState


@pytest.mark.parametrize("kind", RunKind.values)
def test_its_parts_are_there(kind: str) -> None:
    assert inspect.iscoroutinefunction(part_of(kind, "engine"))
    assert issubclass(part_of(kind, "state"), RunState)
    assert issubclass(part_of(kind, "view"), RunView)
    assert part_of(kind, "state") is not RunState


def test_an_unknown_kind_is_read_as_any_run_and_not_executed() -> None:
    assert part_of("unknown", "engine") is None
    assert part_of("unknown", "state") is RunState
    assert part_of("unknown", "view") is RunView


def test_rows_define_agents_and_workflows() -> None:
    assert [kind.name for kind in defined_kinds()] == ["agent", "workflow"]
    assert set(RunKind.values) <= KINDS.keys()
