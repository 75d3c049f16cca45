"""``delegate_task``: hand tasks to sub-agents that work in parallel, and wait for all of them.

The tool only says what it wants; the runtime creates the runs, suspends the caller and joins them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.base.toolspec import ChildTask, Effect, Suspension, ToolSpec, WaitOutcome

if TYPE_CHECKING:
    from agents.loop.definition import AgentDefinition

NAME = "delegate_task"


def delegate_task(definition: AgentDefinition) -> ToolSpec:
    """The delegation tool of one orchestrator: its schema names the team."""
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
        # Suspending is journaled in the same transaction that creates the children, so a crash
        # before it leaves nothing behind and asking again is harmless.
        effect=Effect.PURE,
        resume=_results,
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


def _results(outcomes: tuple[WaitOutcome, ...]) -> str:
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
