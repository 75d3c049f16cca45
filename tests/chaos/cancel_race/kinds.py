"""What a run does when it is cancelled, and how one tells that it has come so far."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.choices import RunStatus

if TYPE_CHECKING:
    from agents.models import Run

#: Tools that take a while, by the effect class that the race is named after.
SLOW_TOOLS = {
    "pure": "look_up",
    "idempotent": "put_item",
    "transactional": "keep_row",
    "at_most_once": "send_once",
}
IDLE = "idle"
PARTIAL = "This much of the answer was streamed before the model fell silent. " * 4


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of race.

    Attributes:
        share: Of a hundred races.
        agent: Who runs.
        script: What the model is to say; ``NAME`` is the run's name.
        event: Cancelled once the journal has this event; empty: at once.
        status: Cancelled once the run has this status; empty: any.
        asked: Cancelled only once the model was asked.
        spread: Seconds over which the cancel's moment is spread after that.
        approve: Every call waits for a person.
    """

    name: str
    share: int
    agent: str = "tell_model"
    script: str = ""
    event: str = ""
    status: str = ""
    asked: bool = False
    spread: float = 0.3
    approve: bool = False

    def ready(self, run: Run) -> bool:
        """Whether the run has come so far."""
        if self.status and run.status != self.status:
            return False
        return not self.event or run.events.filter(type=self.event).exists()


def _slow(effect: str, tool: str) -> Kind:
    # A pure or transactional call has no intent that one could wait for.
    event = "tool.started" if effect in ("idempotent", "at_most_once") else "model.answered"
    call = f'{tool} {{"op": "NAME", "seconds": 1.5}}'
    return Kind(effect, 7, script=f"[[calls: {call}]]", event=event, spread=0.5)


_CALL = 'put_item {"op": "NAME"}'
_HANGING = json.dumps({"agent": "tell_model", "task": "[[run: NAME-child]] [[hang: headers]]"})

KINDS = (
    Kind("ending", 24, script="[[latency: 150]]", spread=0.7),
    Kind("ending after a call", 10, script=f"[[latency: 80]] [[calls: {_CALL}]]", spread=0.9),
    Kind("model", 7, script="[[latency: 1500]]", event="run.started"),
    Kind("silent model", 7, script="[[hang: headers]]", event="run.started", asked=True),
    Kind(
        "half an answer",
        7,
        script=f"[[chunks: 20]] [[text: {PARTIAL}]] [[hang: stream]]",
        event="run.started",
        asked=True,
    ),
    *(_slow(effect, tool) for effect, tool in SLOW_TOOLS.items()),
    Kind("queued", 5, agent=IDLE, status=RunStatus.QUEUED, spread=0.05),
    Kind(
        "sub-agent",
        6,
        agent="chief-tell_model",
        script=f"[[delegate: {_HANGING}]]",
        status=RunStatus.WAITING,
    ),
    Kind("approval", 6, script=f"[[calls: {_CALL}]]", status=RunStatus.WAITING, approve=True),
)
