"""A skill of the shop in two versions, and the agents that have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.actions.skills import save_skill
from agents.models import Agent
from agents.skills.archive import pack
from agents.skills.folder import read_folder
from tests.skills.folders import skill_files

if TYPE_CHECKING:
    from agents.models import Skill
    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace

NAME = "returns"
ABOUT = (
    "Decides about returned bikes and parts. Use it when a customer wants to send something back, "
    "or asks for money of an order."
)
FIRST = """\
# Returns

1. Look the order up. Without its number, ask for it.
2. Read references/rules.md: the period depends on what was bought.
3. Say what the customer gets back, by when, and how to send the parcel.

Never promise a refund that the rules do not have: hand it to the workshop.
"""
SECOND = FIRST.replace(
    "3. Say", "3. Offer a repair where it is possible: it is quicker for the customer.\n4. Say"
)
RULES = """\
# Periods

Bikes: 30 days, ridden less than 50 km.
Parts and clothes: {days} days, in their packing.
Damaged in transit: free repair, or part of the price, whenever it was bought.
"""
LABEL = b"Larkfield Bicycles\nReturns, order {order}\nMill Lane 4\n"
USERS = ("cashier", "support")


def teach(workspace: Workspace, *, by: Actor) -> Skill:
    """Store the skill twice, the second time with changes, and give it to agents."""
    save_skill(workspace, read_folder(_files(FIRST, days=14)), by=by)
    for agent in Agent.objects.filter(workspace=workspace, name__in=USERS):
        agent.skills = [NAME, "customer-support"]
        agent.save()
        publish_agent(agent, by=by)
    changed = _files(SECOND, days=30) | {"assets/label.txt": LABEL}
    return save_skill(workspace, read_folder(changed), by=by).version.skill


def archive() -> bytes:
    """A packed folder, as a person uploads it."""
    return pack(_files(SECOND, days=30))


def _files(body: str, *, days: int) -> dict[str, bytes]:
    files = skill_files(NAME, ABOUT, body=body, more="metadata: {owner: workshop}\n")
    return files | {"references/rules.md": RULES.format(days=days).encode()}
