"""Where a worker may die, and the plan of its deaths that a run brings along. Pure.

A task that begins with ``[[crash: acted,acted]]`` kills the worker that first passes the boundary
``acted`` of that run, and then the next one that does; after that the run has peace.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLAN = re.compile(r"\A\[\[crash: ([a-z_,]+)\]\] ?")


class Boundary(enum.StrEnum):
    """A moment in a slice, in the order in which a run passes them."""

    CLAIMED = "claimed"
    ASKING = "asking"
    ANSWERED = "answered"
    ANSWER_JOURNALED = "answer_journaled"
    INTENDING = "intending"
    ACTING = "acting"
    ACTED = "acted"
    RESULT_JOURNALED = "result_journaled"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    FINISHING = "finishing"
    FINISHED = "finished"


#: What each of them means.
MEANING = {
    Boundary.CLAIMED: "after the claim",
    Boundary.ASKING: "before the model call",
    Boundary.ANSWERED: "after the model's answer, before it is journaled",
    Boundary.ANSWER_JOURNALED: "after the answer is journaled",
    Boundary.INTENDING: "before the intent",
    Boundary.ACTING: "after the intent, before the act",
    Boundary.ACTED: "after the act, before its result is journaled",
    Boundary.RESULT_JOURNALED: "after the result is journaled",
    Boundary.SUSPENDING: "before the run suspends",
    Boundary.SUSPENDED: "after it suspended, before its sub-agent's wake-up",
    Boundary.FINISHING: "before the finish commits",
    Boundary.FINISHED: "after the finish, before any notification",
}


def planned(deaths: Sequence[Boundary]) -> str:
    """The beginning of a task whose run dies at these boundaries, in this order."""
    return f"[[crash: {','.join(deaths)}]] " if deaths else ""


def read_plan(task: str) -> tuple[Boundary, ...]:
    """The deaths that a task asks for.

    Raises:
        ValueError: There is no such boundary.
    """
    found = _PLAN.match(task)
    return tuple(map(Boundary, found[1].split(","))) if found else ()
