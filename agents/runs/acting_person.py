"""The person that a run acts for: the starter of its tree, until another person writes in it."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from heartbit_site.base.query import fetch_one

#: The query of the person, by the run's id.
ACTS_FOR: Final = "SELECT heartbit_acts_for(%s) AS person"


def acts_for(run_id: UUID) -> int | None:
    """Return the id of the person that a run acts for now; None: no one."""
    (person,) = fetch_one(ACTS_FOR, [run_id])
    found: int | None = person
    return found


def lock_and_ask(root_id: UUID, run_id: UUID) -> int | None:
    """Return the person like ``acts_for``, and block messages until the transaction ends.

    The root is locked before the run, in the same order as for a message.
    """
    for each in dict.fromkeys((root_id, run_id)):
        fetch_one("SELECT id FROM agents_run WHERE id = %s FOR NO KEY UPDATE", [each])
    return acts_for(run_id)
