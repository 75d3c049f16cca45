"""Which suspects share a process, in which order, and what happens when one of them kills it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from agents.runtime.recovery import isolated_runs
from agents.runtime.recovery.isolated_runs import MOST_CHILDREN, IsolatedRunner, Suspect

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

#: A process that notes which runs it was given, and dies if one of them is the guilty one.
CHILD = """
import json, os, signal, sys
from pathlib import Path

place, runs = Path(__file__).parent, sys.argv[1:]
with (place / "tried").open("a") as tried:
    tried.write(json.dumps(runs) + chr(10))
if (place / "guilty").read_text() in runs:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[UUID]]]:
    """Return the groups that were tried so far; name the guilty run first."""
    (tmp_path / "stand_in.py").write_text(CHILD)
    (tmp_path / "tried").touch()
    (tmp_path / "guilty").write_text("nobody")
    monkeypatch.setattr(isolated_runs, "MODULE", "stand_in")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def groups(guilty: UUID | None = None) -> list[list[UUID]]:
        if guilty is not None:
            (tmp_path / "guilty").write_text(str(guilty))
        lines = (tmp_path / "tried").read_text().splitlines()
        return [[UUID(one) for one in json.loads(line)] for line in lines]

    return groups


async def find(runner: IsolatedRunner, *suspects: Suspect, ended: Collection[Suspect] = ()) -> None:
    """Let a worker be rung for each at about the same time; the ended ones are queued no more."""

    async def look(run_ids: Collection[UUID]) -> list[Suspect]:
        await asyncio.sleep(0)
        return [one for one in suspects if one.id in run_ids and one not in ended]

    await asyncio.gather(*(runner(suspect.id, look) for suspect in suspects))


async def test_all_are_tried_in_order_and_more_and_more_together(tried: Any) -> None:
    suspects = [Suspect(uuid4(), 2) for _ in range(40)]
    await find(IsolatedRunner(), *suspects)
    groups = tried()
    assert sorted(map(len, groups)) == [8] * 5
    order = {one.id: number for number, one in enumerate(suspects)}
    places = [order[one] for group in groups for one in group]
    assert sorted(places) == list(range(40)), "each once"
    # Two processes note at the same time: a group is at most one place away from its own.
    assert all(abs(place - at) < 8 * MOST_CHILDREN for at, place in enumerate(places))


@pytest.mark.parametrize(
    ("crashes", "most"), [(0, 8), (2, 8), (3, 4), (4, 2), (5, 1), (9, 1), (400, 1)]
)
def test_a_crash_halves_the_group(crashes: int, most: int) -> None:
    assert Suspect(uuid4(), crashes).most_together == most


async def test_who_crashed_more_often_shares_a_process_with_fewer(tried: Any) -> None:
    often, others = Suspect(uuid4(), 5), [Suspect(uuid4(), 3) for _ in range(5)]
    await find(IsolatedRunner(), often, *others)
    groups = tried()
    assert sorted(map(len, groups)) == [1, 1, 4]
    assert [often.id] in groups


async def test_who_has_ended_meanwhile_is_not_tried(tried: Any) -> None:
    suspects = [Suspect(uuid4(), 2) for _ in range(MOST_CHILDREN + 2)]
    await find(IsolatedRunner(), *suspects, ended=suspects[MOST_CHILDREN:])
    assert {one for group in tried() for one in group} == {
        one.id for one in suspects[:MOST_CHILDREN]
    }


async def test_the_guilty_one_dies_alone_after_few_deaths_and_nobody_else_does(tried: Any) -> None:
    runner, suspects = IsolatedRunner(), [Suspect(uuid4(), 2) for _ in range(20)]
    guilty = suspects[9].id
    tried(guilty)
    await find(runner, *suspects)
    deaths, seen = [], 0
    while (last := [group for group in tried()[seen:] if guilty in group])[0] != [guilty]:
        (group,) = last
        deaths.append(group)
        seen = len(tried())
        # As the sweeper finds them: queued again, with one crash more each.
        await find(runner, *(Suspect(one, 2 + len(deaths)) for one in group))
        assert len(deaths) < 4
    alone = [one for group in tried() for one in group]
    assert set(alone) == {one.id for one in suspects}
    assert max(map(alone.count, alone)) <= 4


async def test_who_leaves_starts_nothing_more(tried: Any) -> None:
    runner = IsolatedRunner()
    runner.leave()
    await find(runner, Suspect(uuid4(), 2))
    assert tried() == []
