"""Past turns of a run as JSON for every surface, from the journal alone.

    {"run_id": id, "agent": "writer", "version": 3, "number": 2, "turn_count": 4, "complete": true,
     "request": {"system": "...", "messages": [{"role": "user", "text": "..."},
                     {"role": "assistant", "text": "", "tool_calls": [{"id", "name", "arguments"}]},
                     {"role": "tool", "call_id", "name", "content", "is_error"}],
                 "omitted_messages": 0, "tools": [{"name", "description", "parameters"}],
                 "changed_tools": [], "tool_choice": "auto", "max_tokens": 4096,
                 "temperature": null, "stop": [], "reasoning_effort": ""},
     "answer": {"text": "...", "tool_calls": [...], "finish_reason": "stop"},
     "calls": [{"call_id": "2.0", "tool", "arguments", "effect", "status", "result", "duration_ms",
                "finished_at", "decision": null | {"status", "by", "reason", "arguments"},
                "runs": [ids of the sub-agents' runs]}],
     "model": "openai:gpt-6-sol", "usage": {"input_tokens", "output_tokens",
     "cached_input_tokens"}, "cost_usd": "0.0012", "duration_ms": 812, "answered_at": time}

``omitted_messages`` counts messages that the agent's context strategy did not send. ``tools`` has
the published definitions; ``changed_tools`` names those that have changed or are gone since.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.definitions import snapshot
from agents.journal.events import ApprovalRequested, CallWaiting, RunStarted, WaitResolved
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    ToolDefinition,
    ToolMessage,
)
from agents.loop.history import Turn, find_turn, replay_to, turns
from agents.loop.request import build_request
from agents.reads.pinned_tools import pinned_tools
from agents.runs.history import load_history
from agents.runtime.conversation_history import to_messages
from agents.runtime.toolbox import OfferedTools, offered_tools
from agents.runtime.unread import with_unread_then
from heartbit_site.base.preview import preview
from tools.catalogue import catalogue
from tools.registry import definition_hash, resolve

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.state import RunState
    from agents.models import AgentVersion, Run
    from agents.runs.history import RunHistory


def definition_of(version: AgentVersion) -> AgentDefinition:
    """Return the definition of a version for the engine."""
    return snapshot.read(version.pk, version.agent_id, version.agent.name, version.snapshot)


def list_turns(run: Run) -> list[dict[str, Any]]:
    """Return a summary of each turn: text, tools called, completeness and figures."""
    return [
        {
            "number": turn.number,
            "text": preview(turn.answer.message.text),
            "text_characters": len(turn.answer.message.text),
            "tools": [call.name for call in turn.answer.message.tool_calls],
            "complete": turn.closed_seq is not None,
            **_figures(turn, past),
        }
        for past in [load_history(run)]
        for turn in turns(past.journal)
    ]


def describe_turn(run: Run, number: int) -> dict[str, Any]:
    """Return one turn with all its details.

    Raises:
        TurnNotFoundError: The model has not answered that often.
        RunStateError: A newer Heartbit wrote the journal.
    """
    past = load_history(run)
    turn = find_turn(past.journal, number)
    version = run.version
    definition = definition_of(version)
    offer = with_unread_then(
        definition.agent_id,
        offered_tools(definition, pinned_tools(definition), is_child=run.parent_id is not None),
        _begun(turn, past),
    )
    state = replay_to(past.journal, turn.asked_seq, to_messages(past.thread))
    message = turn.answer.message
    return {
        "run_id": str(run.pk),
        "agent": run.agent,
        "version": version.number,
        "number": number,
        "turn_count": len(turns(past.journal)),
        "complete": turn.closed_seq is not None,
        "request": _request(state, definition, offer)
        | {"changed_tools": _changed(run, definition)},
        "answer": {**_message(message), "finish_reason": turn.answer.finish_reason},
        "calls": _calls(turn, past, offer),
        **_figures(turn, past),
    }


def _begun(turn: Turn, past: RunHistory) -> datetime:
    """Return the start of the slice that called the model."""
    before = past.journal[: turn.seq]
    return next(
        (one.at for one in reversed(before) if isinstance(one.event, RunStarted)), before[0].at
    )


def _request(state: RunState, definition: AgentDefinition, offer: OfferedTools) -> dict[str, Any]:
    offered = tuple(
        ToolDefinition(spec.name, spec.description, dict(spec.parameters))
        for spec in offer.specs.values()
    )
    request: ChatRequest = build_request(state, definition, tools=offered)
    return {
        "system": request.system,
        "messages": [_message(message) for message in request.messages],
        "omitted_messages": max(0, len(state.messages) - len(request.messages)),
        "tools": [
            {"name": t.name, "description": t.description, "parameters": t.parameters}
            for t in request.tools
        ],
        "tool_choice": request.tool_choice,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop),
        "reasoning_effort": request.reasoning_effort,
    }


def _changed(run: Run, definition: AgentDefinition) -> list[str]:
    """Return the names of the version's tools whose definition has changed or is gone."""
    now = {name: definition_hash(spec) for name, spec in catalogue(run.workspace_id).items()}
    return [tool.name for tool in definition.tools if now.get(tool.name) != tool.pinned]


def _message(message: Message) -> dict[str, Any]:
    match message:
        case AssistantMessage(text=text, tool_calls=calls):
            asked = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls]
            return {"role": "assistant", "text": text, "tool_calls": asked}
        case ToolMessage():
            return {
                "role": "tool",
                "call_id": message.call_id,
                "name": message.name,
                "content": message.content,
                "is_error": message.is_error,
            }
        case _:
            return {"role": "user", "text": message.text}


def _calls(turn: Turn, past: RunHistory, offer: OfferedTools) -> list[dict[str, Any]]:
    after = [recorded.event for recorded in past.journal[turn.seq :]]
    asked = {e.call_id: e for e in after if isinstance(e, ApprovalRequested)}
    waited = {e.call_id: e.runs for e in after if isinstance(e, CallWaiting)}
    ended = {e.key: e.value for e in after if isinstance(e, WaitResolved)}
    found = []
    for call_id, call in zip(turn.call_ids, turn.answer.message.tool_calls, strict=True):
        spec = resolve(offer.specs, call.name)
        row: dict[str, Any] = {
            "call_id": call_id,
            "tool": call.name,
            "arguments": call.arguments,
            "effect": spec.effect.value if spec is not None else "",
            "status": "pending",
            "result": None,
            "duration_ms": None,
            "finished_at": None,
            "decision": None,
            "runs": list(waited.get(call_id, ())),
        }
        question = asked.get(call_id)
        if question is not None:
            row["status"] = "waiting"
            row["decision"] = _decision(ended.get(question.key))
        recorded = turn.results.get(call_id)
        if recorded is not None:
            row |= _result(past.payloads[recorded.seq], recorded.at)
        found.append(row)
    return found


def _result(payload: dict[str, Any], at: datetime) -> dict[str, Any]:
    return {
        "effect": payload.get("effect", ""),
        "status": payload["status"],
        "result": payload["content"],
        "duration_ms": payload.get("duration_ms", 0),
        "finished_at": at.astimezone(UTC).isoformat(),
    }


def _decision(value: dict[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    names = ("status", "by", "reason", "arguments")
    return {name: value.get(name) for name in names}


def _figures(turn: Turn, past: RunHistory) -> dict[str, Any]:
    answer = turn.answer
    return {
        "model": answer.model,
        "usage": {
            "input_tokens": answer.usage.input_tokens,
            "output_tokens": answer.usage.output_tokens,
            "cached_input_tokens": answer.usage.cached_input_tokens,
        },
        "cost_usd": answer.cost_usd,
        "duration_ms": answer.duration_ms,
        "answered_at": past.journal[turn.seq - 1].at.astimezone(UTC).isoformat(),
    }
