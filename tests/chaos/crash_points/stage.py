"""The agents of the crash points, their runs, and what can be seen of each afterwards."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.choices import RunKind
from agents.llm.messages import ToolCall
from agents.models import Agent, BlackboardEntry, Run, ToolBinding
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect
from tests.chaos import journals
from tests.chaos.crash_points.table import Case, State
from tests.chaos.crashes import agent_tools
from tests.chaos.crashes.boundary import Boundary, planned
from tests.chaos.records import Effect as Happened
from tests.starts import start_run
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from tests.chaos.records import Asked

TOOLS = {
    Effect.PURE: "look_up",
    Effect.IDEMPOTENT: "put_item",
    Effect.TRANSACTIONAL: "keep_row",
    Effect.AT_MOST_ONCE: "send_once",
}
#: The same as plain functions, whose threads write their own intents and results.
IN_THREAD = {
    Effect.IDEMPOTENT: "put_item_in_thread",
    Effect.AT_MOST_ONCE: "send_once_in_thread",
}
HELPER = "helper"
SCRIPTED = "scripted"
_POLICIES = ("tell_model", "ask_human", "retry")


def workspace_of_subjects(queue: str, *, slug: str = "") -> Workspace:
    """For each policy about doubt an agent with every tool, and a chief who has it in the team."""
    registry.discover([agent_tools])
    workspace = Workspace.objects.create(slug=slug or queue, name=slug or queue)
    helper = add_agent(workspace, HELPER, queue)
    for policy in _POLICIES:
        subject = add_agent(workspace, policy, queue, policy=policy, team=[helper], armed=True)
        add_agent(workspace, f"chief-{policy}", queue, team=[subject])
    add_agent(workspace, SCRIPTED, queue, armed=True, code_mode=True)
    return workspace


def add_agent(
    workspace: Workspace,
    name: str,
    queue: str,
    *,
    policy: str = "tell_model",
    team: Sequence[Agent] = (),
    armed: bool = False,
    code_mode: bool = False,
) -> Agent:
    """Publish one; an armed one has a tool of each class."""
    agent = Agent.objects.create(
        workspace=workspace,
        name=name,
        system_prompt="You do as you are told.",
        model="openai:chaos",
        queue=queue,
        uncertain_calls=policy,
        code_mode=code_mode,
    )
    agent.team.set(team)
    tools = (*TOOLS.values(), *IN_THREAD.values()) if armed else ()
    ToolBinding.objects.bulk_create(ToolBinding(agent=agent, tool=tool) for tool in tools)
    publish_agent(agent)
    return agent


@dataclass(slots=True)
class Play:
    """A case on stage.

    Attributes:
        name: Its key in the ledgers, and the name of its effect.
        root: The run that was started; the case's own may be its sub-agent's.
    """

    case: Case
    name: str
    root: UUID

    @property
    def run(self) -> Run | None:
        """The run whose worker dies, once it is there."""
        if self.case.boundary is not Boundary.FINISHED or self.case.kind is RunKind.TOOL_CALL:
            return Run.objects.get(pk=self.root)
        return Run.objects.filter(parent_id=self.root).first()


def start(workspace: Workspace, case: Case, name: str) -> Play:
    """Start a case's run; every second name has a plain function for a tool, where there is one."""
    tool = TOOLS[case.effect]
    if name[-1] in "02468":
        tool = IN_THREAD.get(case.effect, tool)
    policy = case.word.policy
    if case.kind is RunKind.TOOL_CALL:
        once = ToolCall("call_0", tool, json.dumps({"op": name}))
        task = f"{planned(case.plan)}[[run: {name}]]"
        return Play(case, name, start_run(workspace, task, agent=policy, call=once))
    if case.in_script:
        script = json.dumps({"script": f"await {tool}(op={name!r})"})
        text = f"{planned(case.plan)}[[run: {name}]] [[calls: run_script {script}]]"
        return Play(case, name, start_run(workspace, text, agent=SCRIPTED))
    call = f"{tool} {json.dumps({'op': name})}"
    if case.boundary in (Boundary.SUSPENDING, Boundary.SUSPENDED):
        helped = {"tasks": [{"agent": HELPER, "task": f"Help. [[run: {name}-helper]]"}]}
        call += f", delegate_task {json.dumps(helped)}"
    text = f"{planned(case.plan)}[[run: {name}]] [[calls: {call}]]"
    if case.boundary is Boundary.FINISHED:  # a sub-agent's end is what somebody has to be told
        order = json.dumps({"agent": policy, "task": text})
        chief = f"[[run: {name}-chief]] [[delegate: {order}]]"
        return Play(case, name, start_run(workspace, chief, agent=f"chief-{policy}"))
    return Play(case, name, start_run(workspace, text, agent=policy))


def rows(workspace: Workspace) -> tuple[Happened, ...]:
    """What the transactional tool committed."""
    kept = BlackboardEntry.objects.filter(root__workspace=workspace, author="chaos")
    return tuple(
        Happened("keep_row", "", entry.value, entry.updated_at.timestamp()) for entry in kept
    )


def observed(play: Play, asked: Iterable[Asked], effects: Iterable[Happened]) -> State:
    """How a case ended; ``asked`` and ``effects`` are those of its name."""
    run = play.run
    if run is None:
        return State("never started", "", 0, 0, 0)
    (record,) = journals.read([run.pk])
    call = next((call.status for call in record.calls if call.op == play.name), "never called")
    turns = Counter(each.turn for each in asked)
    happened = tuple(effects)
    root = Run.objects.get(pk=play.root)
    return State(
        run=run.status if root.status == run.status else f"{run.status} of {root.status}",
        call=call,
        effects=len(happened),
        keys=len({each.key for each in happened}),
        asked_again=turns.total() - len(turns),
        questions=sum(event.type == "outcome.requested" for event in record.events),
    )
