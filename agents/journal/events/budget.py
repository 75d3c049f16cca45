"""Event of a run that asks an owner whether to spend more of a budget. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agents.journal import waits
from agents.journal.events.event import Event
from agents.journal.phrase import Phrase
from heartbit_site.base.visible_text import visible

#: Id in questions of a run that no budget has made wait, but a model of unknown price.
NO_BUDGET: Final = 0


def budget_of(key: str) -> int:
    """Return the id of the budget in the key of a wait that ``BudgetAsked`` has opened."""
    return int(key.split(":")[1])


@dataclass(frozen=True, slots=True)
class BudgetAsked(Event):
    """A budget has reached the threshold at which an owner is asked to go on.

    Attributes:
        number: Number of the question in its run, from 1.
        budget: Id of the budget; ``NO_BUDGET``: the price of the run's model is unknown.
        text: The question as a sentence, with what was spent.
    """

    type: ClassVar[str] = "budget.asked"
    number: int
    budget: int
    text: str

    @property
    def key(self) -> str:
        """Key of the wait that the answer resolves."""
        return f"{waits.BUDGET.name}:{self.budget}:{self.number}"

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that this event opens."""
        return waits.BUDGET.row(self.key)

    def phrase(self, name_of: Callable[[str], str]) -> Phrase:
        """Return the event in words."""
        del name_of
        return Phrase("asks an owner to go on", visible(self.text), "payments", "warning")
