"""Tools that start runs: ``delegate_task`` for a team's agents, and one for each workflow.

The tools only return the request; the runtime creates the runs, suspends the caller and joins them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from agents.llm.messages import AssistantMessage, Message, ToolCall, UserMessage
from heartbit_site.base.suspensions import ChildTask, Suspension, WaitOutcome
from heartbit_site.base.toolspec import Effect, ToolSpec

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition, TeamWorkflow

NAME = "delegate_task"
#: Begin of the names of workflows' tools; a registered tool's name has no hyphen.
WORKFLOW: Final = "workflow-"
_LONGEST_NAME: Final = 64
_ENDINGS = ("Give facts.", "Give reasons.", "Write a short answer.", "Give an example.")


SUB_AGENT_NOTE = (
    "You work as a sub-agent, so you cannot delegate to your team. Do the whole task yourself, and "
    "name in your answer what you could not do without the team."
)


def as_sub_agent(definition: AgentDefinition) -> AgentDefinition:
    """Return the definition of a sub-agent's run: its prompt says that it cannot delegate."""
    if not definition.delegates:
        return definition
    prompt = "\n\n".join(filter(None, (definition.system_prompt, SUB_AGENT_NOTE)))
    return definition.model_copy(update={"system_prompt": prompt, "team": (), "workflows": ()})


def starts_runs(name: str) -> bool:
    """Return True if a tool of this name only starts runs and waits for them."""
    return name == NAME or name.startswith(WORKFLOW)


def team_tools(definition: AgentDefinition) -> Iterator[ToolSpec]:
    """Yield the tools with which an agent starts runs of its team's members."""
    if definition.team:
        yield delegate_task(definition)
    for workflow in definition.workflows:
        yield _workflow_tool(workflow, definition.delegation_timeout_seconds)


def _workflow_tool(workflow: TeamWorkflow, timeout_seconds: float) -> ToolSpec:
    """Return the tool that runs a workflow; its arguments are the workflow's input."""
    parameters, wrapped = input_parameters(workflow.input)

    async def run_workflow(**arguments: Any) -> Suspension:
        task = input_text(arguments, wrapped)
        child = ChildTask(workflow.name, task, version=workflow.version)
        return Suspension((child,), timeout_seconds)

    return ToolSpec(
        name=_tool_name(workflow.name),
        description=f"Run the workflow {workflow.name}. {workflow.description}".strip(),
        parameters=parameters,
        function=run_workflow,
        effect=Effect.PURE,  # as for ``delegate_task``
        resume=lambda outcomes: _say(outcomes[0].value),
        labels=frozenset(),
    )


def _tool_name(workflow: str) -> str:
    """Return the name of a workflow's tool, in the length that all models accept."""
    name = f"{WORKFLOW}{workflow}"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def input_text(arguments: Mapping[str, Any], wrapped: str) -> str:
    """Return the arguments of such a tool as the task of its run; see ``input_parameters``."""
    given = arguments[wrapped] if wrapped else arguments
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def input_parameters(schema: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
    """Return the parameters of a tool that starts runs, and the one that is the run's input.

    Args:
        schema: JSON Schema of the input; None: a text.

    Returns:
        The parameters, and a name; empty: all of them are the input.
    """
    if schema is not None and schema.get("type") == "object":
        return {"properties": {}, **schema}, ""
    name = "task" if schema is None else "input"
    own = {"type": "string", "minLength": 1} if schema is None else dict(schema)
    definitions: dict[str, Any] = {
        key: own.pop(key) for key in ("$defs", "definitions") if key in own
    }
    properties = {"properties": {name: own}, "required": [name], "additionalProperties": False}
    return {"type": "object", **properties, **definitions}, name


def delegate_task(definition: AgentDefinition) -> ToolSpec:
    """Return the delegation tool of an orchestrator; its schema names the team."""
    members = "; ".join(
        f"{name} ({description})" if description else name for name, description in definition.team
    )

    async def delegate(tasks: list[dict[str, Any]]) -> Suspension:
        return Suspension(
            children=tuple(ChildTask(task["agent"], task["task"]) for task in tasks),
            timeout_seconds=definition.delegation_timeout_seconds,
        )

    return ToolSpec(
        name=NAME,
        description=(
            "Give tasks to team members. They work in parallel and cannot see each other or this "
            "conversation, so put everything they need into the task. You get all results at once. "
            f"The team: {members}."
        ),
        parameters=_schema([name for name, _ in definition.team], definition.max_parallel),
        function=delegate,
        # The transaction that creates the children journals the suspension, so a crash before it
        # leaves nothing behind and repeating the call is harmless.
        effect=Effect.PURE,
        resume=results,
        labels=frozenset(),  # sub-agents' own calls record what they have read
    )


def _schema(names: list[str], max_parallel: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "minItems": 1,
                "maxItems": max_parallel,
                "items": {
                    "type": "object",
                    "properties": {
                        "agent": {"type": "string", "enum": names},
                        "task": {"type": "string", "minLength": 1},
                    },
                    "required": ["agent", "task"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["tasks"],
        "additionalProperties": False,
    }


def examples(names: list[str]) -> tuple[Message, ...]:
    """Return two example delegations to the whole team, for models that need examples.

    Only adapters of models without native tool calls use them. With one example the smallest models
    copy its tasks; with two they recognise the variable part.
    """
    messages: list[Message] = []
    for question in ("Why is sleep important for learning?", "How do boats float?"):
        tasks = [
            {"agent": name, "task": f"{question} {_ENDINGS[index % len(_ENDINGS)]}"}
            for index, name in enumerate(names)
        ]
        call = ToolCall("example", NAME, json.dumps({"tasks": tasks}))
        messages += [UserMessage(question), AssistantMessage(tool_calls=(call,))]
    return tuple(messages)


def results(outcomes: tuple[WaitOutcome, ...]) -> str:
    """Return the outcome of each sub-agent's run as text for the model."""
    return "\n\n".join(f"{outcome.subject}: {_say(outcome.value)}" for outcome in outcomes)


def _say(value: Any) -> str:
    match value.get("status"):
        case "succeeded":
            return str(value.get("output") or "(no text)")
        case "expired":
            return "(did not finish in time)"
        case status:
            error = value.get("error") or {}
            message = f"({status}: {error.get('message', 'no reason given')})"
            partial = value.get("output")
            return f"{message} So far: {partial}" if partial else message
