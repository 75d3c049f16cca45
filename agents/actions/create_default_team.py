"""Give an empty workspace the default team: an orchestrator with researcher, analyst and writer."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from agents.actions.publish_agent import make_current
from agents.models import Agent, ToolBinding
from heartbit_site.base.models import Workspace

ORCHESTRATOR = "orchestrator"
#: Long enough for a team on the built-in model on a busy machine.
DELEGATION_SECONDS = 600
#: Tools that every member of a team has, unless a file or a program says otherwise.
BLACKBOARD = ("blackboard_list", "blackboard_read", "blackboard_write")


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    description: str
    system_prompt: str
    tools: tuple[str, ...] = ()


MEMBERS = (
    _Member(
        "researcher",
        "Finds and states the facts a question turns on.",
        "You are a researcher. State the facts that matter to the task, in short sentences. "
        "Say what you are not sure of.",
        (*BLACKBOARD, "current_time", "http_get"),
    ),
    _Member(
        "analyst",
        "Weighs facts: causes, effects, numbers, trade-offs.",
        "You are an analyst. Explain causes and effects, weigh the arguments, and do the sums. "
        "Be brief and concrete.",
        (*BLACKBOARD, "calculate", "current_time"),
    ),
    _Member(
        "writer",
        "Turns material into clear, readable prose.",
        "You are a writer. Write clear, plain prose for a general reader. No headings, no lists, "
        "unless you are asked for them.",
        BLACKBOARD,
    ),
)
PROMPT = (
    "You lead a small team. Split the user's question into one task for each team member who can "
    "help, delegate all of them in one call, and then answer the user yourself in one clear "
    "paragraph made from their results."
)


@transaction.atomic
def create_default_team(workspace: Workspace) -> Agent | None:
    """Create and publish the team, unless the workspace has any agent; return the orchestrator.

    Part of an installation's set-up, so nothing is written to the audit.
    """
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    if Agent.objects.filter(workspace=workspace).exists():
        return None
    members = []
    for member in MEMBERS:
        agent = Agent.objects.create(
            workspace=workspace,
            name=member.name,
            description=member.description,
            system_prompt=member.system_prompt,
        )
        ToolBinding.objects.bulk_create(
            ToolBinding(agent=agent, tool=tool) for tool in member.tools
        )
        make_current(agent)
        members.append(agent)
    orchestrator = Agent.objects.create(
        workspace=workspace,
        name=ORCHESTRATOR,
        description="Answers a question with the help of its team.",
        system_prompt=PROMPT,
        delegation_timeout_seconds=DELEGATION_SECONDS,
    )
    orchestrator.team.set(members)
    make_current(orchestrator)
    return orchestrator
