"""Give an empty workspace the default team: an orchestrator with researcher, analyst and writer."""

from __future__ import annotations

from django.db import transaction

from agents.actions.write_agents import write_agents
from agents.definitions.spec import AgentSpec, ToolGrant
from agents.models import Agent
from heartbit_site.base.models import Workspace

ORCHESTRATOR = "orchestrator"
#: Long enough for a team on the built-in model on a busy machine.
DELEGATION_SECONDS = 600
#: Tools that every member of a team has, unless a file or a program says otherwise.
BLACKBOARD = ("blackboard_list", "blackboard_read", "blackboard_write")


def _granted(*tools: str) -> list[ToolGrant]:
    return [ToolGrant(name=tool) for tool in (*BLACKBOARD, *tools)]


MEMBERS = (
    AgentSpec(
        name="researcher",
        description="Finds and states the facts a question turns on.",
        system_prompt=(
            "You are a researcher. State the facts that matter to the task, in short sentences. "
            "Say what you are not sure of."
        ),
        tools=_granted("current_time", "http_get"),
    ),
    AgentSpec(
        name="analyst",
        description="Weighs facts: causes, effects, numbers, trade-offs.",
        system_prompt=(
            "You are an analyst. Explain causes and effects, weigh the arguments, and do the sums. "
            "Be brief and concrete."
        ),
        tools=_granted("calculate", "current_time"),
    ),
    AgentSpec(
        name="writer",
        description="Turns material into clear, readable prose.",
        system_prompt=(
            "You are a writer. Write clear, plain prose for a general reader. No headings, no "
            "lists, unless you are asked for them."
        ),
        tools=_granted(),
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
    orchestrator = AgentSpec(
        name=ORCHESTRATOR,
        description="Answers a question with the help of its team.",
        system_prompt=PROMPT,
        team=[member.name for member in MEMBERS],
        delegation_timeout_seconds=DELEGATION_SECONDS,
    )
    return write_agents(workspace, [*MEMBERS, orchestrator], origin="")[ORCHESTRATOR].row
