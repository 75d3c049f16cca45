"""Fold a kept journal again, and decide at each of its points, also from a checkpoint there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agents.loop import checkpoint
from agents.loop.agent_state import AgentState
from heartbit_site.base.errors import ConfigurationError
from tests.chaos.replay.probe import decide

if TYPE_CHECKING:
    from tests.chaos.replay.kept import Kept, Point
    from tests.chaos.replay.probe import Subject


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a journal.

    Attributes:
        points: How many decisions were compared.
        refused: Why this Heartbit does not read it; it says so, and nothing else happens.
        different: A sentence for each decision that is another one now.
    """

    points: int = 0
    refused: str = ""
    different: tuple[str, ...] = ()


async def replay(kept: Kept) -> Outcome:
    """Compare every decision with the one that was recorded."""
    try:
        subject, journal = kept.subject(), kept.journal()
    except (ConfigurationError, KeyError, ValidationError) as error:
        return Outcome(refused=str(error))
    points = {point.seq: point for point in kept.points}
    state, different = kept.beginning(), []
    for recorded in journal:
        try:
            state.fold(recorded)
        except (KeyError, ValueError) as error:
            different.append(f"{kept.shape} {kept.id} cannot be folded: {error}")
            break
        point = points.get(recorded.seq)
        if point is not None:
            different += [
                f"{kept.shape} {kept.id} after event {point.seq} ({recorded.event.type}): {words}"
                for words in await _differences(point, state, subject)
            ]
    return Outcome(points=len(points), different=tuple(different))


async def _differences(point: Point, state: AgentState, subject: Subject) -> list[str]:
    stored = checkpoint.decode("agent", checkpoint.encode("agent", state))
    assert isinstance(stored, AgentState)
    found = []
    for name, each in (("the fold", state), ("a checkpoint", stored)):
        try:
            decision = await decide(each, subject)
        except Exception as error:  # noqa: BLE001  whatever it is, it was not so before
            found.append(f"was {point.kind}, and from {name} it is {error!r}")
            continue
        if decision.digest != point.digest:
            found.append(f"was {point.kind}, and from {name} it is {decision.kind}")
    return found
