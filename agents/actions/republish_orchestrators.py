"""Publish agents again because of what their versions pin: descriptions of teams, skills."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db import transaction

from agents.actions.publish_agent import Publication, make_current, record_publication
from agents.models import Agent
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Led:
    """Result of publishing one agent again.

    Attributes:
        agent: The agent.
        made: The publication; None: the agent could not be published.
        problem: Why not, as a sentence.
    """

    agent: Agent
    made: Publication | None = None
    problem: str = ""


@transaction.atomic
def publish_leaders(members: Collection[Agent], *, by: Actor) -> list[Led]:
    """Publish every agent that has one of these in its team, except these themselves.

    An orchestrator that cannot be published keeps its version; that is no error here.
    """
    leaders = Agent.objects.filter(team__in=members).exclude(pk__in=[one.pk for one in members])
    return publish_again(leaders.distinct().order_by("name"), by=by)


@transaction.atomic
def publish_again(agents: Iterable[Agent], *, by: Actor) -> list[Led]:
    """Publish agents because something changed that their versions pin.

    One that cannot be published keeps its version; that is no error here.
    """
    led = [_publish(agent) for agent in agents]
    for one in led:  # the audit's chain is locked last, after every row
        if one.made is not None:
            record_publication(one.agent, one.made, by=by)
    return led


def _publish(leader: Agent) -> Led:
    try:
        return Led(leader, make_current(leader))  # atomic: a refusal rolls back only this one
    except ConfigurationError as error:
        return Led(leader, problem=str(error))
