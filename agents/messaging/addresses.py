"""Addresses of messages.

``agent:writer``, or ``writer`` alone
    The agent's inbox; agents of one workspace and one origin can write to each other.
``orchestrator``
    For a sub-agent's run, the agent of its parent run; else the agent of that name.
``broadcast``
    The inbox of every published agent but the sender's own.
``person:ada``
    A person who wrote over the API: they can be answered, but not written to.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from agents.definitions.unknown_agent import unknown_agent
from agents.errors import RecipientError
from agents.models import Agent, Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import ToolContext
from heartbit_site.base.untrusted import clean_text

AGENT, PERSON = "agent:", "person:"
BROADCAST, ORCHESTRATOR = "broadcast", "orchestrator"


@dataclass(frozen=True, slots=True)
class Sender:
    """Sender of a message.

    Attributes:
        origin: Origin of the agents that the sender can write to, as in ``Agent``.
        run: Run that writes; None: a person does.
        by: Person; None: an agent writes.
    """

    workspace: Workspace
    address: str
    origin: str = ""
    run: Run | None = None
    call_id: str = ""
    by: Actor | None = None

    @property
    def agent(self) -> Agent | None:
        """Agent that writes; None: a person does."""
        return None if self.run is None else self.run.version.agent


@dataclass(frozen=True, slots=True)
class Recipient:
    """An address with the agents whose inboxes it stands for."""

    address: str
    inboxes: tuple[Agent, ...] = ()


def sender_of_call(context: ToolContext) -> Sender:
    """Return the agent whose run makes a call as a sender.

    Raises:
        RecipientError: The run is private: other members read messages between agents.
    """
    runs = Run.objects.select_related("workspace", "version__agent")
    run = runs.get(pk=context.run_id, workspace_id=context.workspace_id)
    if run.private:
        raise RecipientError(
            "This conversation is private, and others read messages between agents: continue "
            "without, or delegate to a sub-agent."
        )
    agent = run.version.agent
    return Sender(run.workspace, address_of(agent), agent.origin, run=run, call_id=context.call_id)


def sender_of_person(workspace: Workspace, by: Actor) -> Sender:
    """Return a person or a program as a sender."""
    return Sender(workspace, f"{PERSON}{by.name}", by=by)


def resolve_recipient(sender: Sender, to: str) -> Recipient:
    """Return the recipient of an address.

    Raises:
        RecipientError: The address cannot be written to.
        AgentNotFoundError: No published agent has that name; the message suggests the closest one.
    """
    if plain_address(to) == BROADCAST:
        others = _known(sender)
        if sender.agent is not None:
            others = others.exclude(pk=sender.agent.pk)
        found = tuple(others.order_by("pk"))
        if not found:
            raise RecipientError("There is no other agent to send a message to.")
        return Recipient(BROADCAST, found)
    return inbox_of(resolve_agent(sender, to))


def inbox_of(agent: Agent) -> Recipient:
    """Return an agent's inbox as a recipient."""
    return Recipient(address_of(agent), (agent,))


def address_of(agent: Agent) -> str:
    """Return an agent's full address."""
    return f"{AGENT}{agent.name}"


def normalize_address(address: str) -> str:
    """Return an address in full, if it is only an agent's name."""
    return address if ":" in address or address == BROADCAST else f"{AGENT}{address}"


def resolve_agent(sender: Sender, to: str) -> Agent:
    """Return the one other agent that an address means.

    Raises:
        RecipientError: The address means several agents, a person, or the sender.
        AgentNotFoundError: As for ``resolve_recipient``.
    """
    name = plain_address(to)
    if name == BROADCAST:
        raise RecipientError("A broadcast only reaches inboxes: name one agent.")
    if name.startswith(PERSON):
        raise RecipientError("People are answered, not written to: reply to what one has written.")
    agent = _above(sender) if name == ORCHESTRATOR else None
    if agent is None:
        agent = _known(sender).filter(name=name.removeprefix(AGENT)).first()
    if agent is None:
        names = list(_known(sender).order_by("name").values_list("name", flat=True))
        raise unknown_agent(name.removeprefix(AGENT), names, sender.workspace.slug)
    if sender.agent is not None and agent.pk == sender.agent.pk:
        raise RecipientError("That is your own address: name another agent.")
    return agent


def plain_address(to: str) -> str:
    """Return an address as it is compared: lower case, without white space and @."""
    return clean_text(to).strip().removeprefix("@").lower()


def _known(sender: Sender) -> QuerySet[Agent]:
    return Agent.objects.filter(
        workspace=sender.workspace, origin=sender.origin, current_version__isnull=False
    )


def _above(sender: Sender) -> Agent | None:
    if sender.run is None or sender.run.parent_id is None:
        return None
    return Agent.objects.filter(versions__runs=sender.run.parent_id).first()
