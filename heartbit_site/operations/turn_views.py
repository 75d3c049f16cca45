"""Past turns of runs as the views of the contract, read only from the journal."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from agents.choices import RunKind
from agents.definitions.definition import AgentDefinition
from agents.journal.events import ApprovalRequested, CallWaiting, RunStarted, WaitResolved
from agents.journal.memory_texts import hidden_memories
from agents.llm.messages import AssistantMessage, Message, ToolMessage
from agents.loop.agent_state import AgentState
from agents.loop.delegation import as_sub_agent
from agents.loop.extraction import definition_for
from agents.loop.history import Turn, find_turn, replay_to, turns
from agents.loop.past_runs import to_messages
from agents.loop.request import build_request
from agents.models import Run
from agents.reads.agents import definition_of
from agents.reads.hidden_memories import history_for, known_block, texts_of_run
from agents.reads.tools import pinned_tools
from agents.runs.history import RunHistory, load_history
from agents.runtime.memories.extraction_source import words_of
from agents.runtime.toolset.offer import OfferedTools, offered_tools
from agents.runtime.toolset.unread import with_unread_then
from heartbit_site.base.access import Access
from heartbit_site.base.preview import preview
from heartbit_site.contract import turns as contract
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash, resolve


def list_turns(run: Run, access: Access | None = None) -> list[contract.TurnRowOut]:
    """Return a summary of each turn for a reader: text, tools called, completeness and figures."""
    past = history_for(load_history(run), texts_of_run(access, run))
    return [
        contract.TurnRowOut.of(
            turn.answer,
            number=turn.number,
            text=preview(turn.answer.message.text),
            text_characters=len(turn.answer.message.text),
            tools=[call.name for call in turn.answer.message.tool_calls],
            complete=turn.closed_seq is not None,
            answered_at=_answered_at(turn, past),
        )
        for turn in turns(past.journal)
    ]


def describe_turn(run: Run, number: int, access: Access | None = None) -> contract.TurnOut:
    """Return one turn with all its details.

    Args:
        run: The run.
        number: The turn.
        access: The reader; None: the installation itself, which sees all.

    Raises:
        TurnNotFoundError: The run has no such turn.
        RunStateError: A newer Heartbit wrote the journal.
    """
    past = history_for(load_history(run), texts_of_run(access, run))
    turn = find_turn(past.journal, number)
    definition = _definition(run)
    offer = with_unread_then(
        definition.agent_id,
        offered_tools(
            definition,
            pinned_tools(definition),
            is_child=run.parent_id is not None,
            has_parent=run.parent_id is not None,
        ),
        _begun(turn, past),
    )
    state = replay_to(past.journal, turn.asked_seq, to_messages(past.thread))
    answer = turn.answer
    return contract.TurnOut.of(
        answer,
        run_id=str(run.pk),
        agent=run.agent,
        version=run.version.number,
        number=number,
        turn_count=len(turns(past.journal)),
        complete=turn.closed_seq is not None,
        request=_request(run, state, definition, offer, access),
        answer=contract.TurnAnswerOut.of(
            answer.message, role="assistant", finish_reason=answer.finish_reason
        ),
        calls=_calls(turn, past, offer),
        answered_at=_answered_at(turn, past),
    )


def _definition(run: Run) -> AgentDefinition:
    """Return the definition that the run's loop works with."""
    definition = definition_of(run.version)
    if run.kind == RunKind.EXTRACTION:
        return definition_for(definition)
    return definition if run.parent_id is None else as_sub_agent(definition)


def _answered_at(turn: Turn, past: RunHistory) -> datetime:
    return past.journal[turn.seq - 1].at


def _begun(turn: Turn, past: RunHistory) -> datetime:
    """Return the start of the slice that called the model."""
    before = past.journal[: turn.seq]
    return next(
        (one.at for one in reversed(before) if isinstance(one.event, RunStarted)), before[0].at
    )


def _request(
    run: Run,
    state: AgentState,
    definition: AgentDefinition,
    offer: OfferedTools,
    access: Access | None,
) -> contract.TurnRequestOut:
    texts = texts_of_run(access, run)
    if run.kind == RunKind.EXTRACTION and texts is not None:
        known = hidden_memories(None, texts.person)
    elif run.kind == RunKind.EXTRACTION:
        known = words_of(run.pk, partial(resolve, catalogue(run.workspace_id)))
    else:
        known = known_block(access, run)
    request = build_request(state, definition, tools=offer.definitions, known=known)
    offered = len(state.messages) + bool(known)
    return contract.TurnRequestOut.of(
        request,
        messages=[_message(message) for message in request.messages],
        omitted_messages=max(0, offered - len(request.messages)),
        changed_tools=_changed(run, definition),
    )


def _changed(run: Run, definition: AgentDefinition) -> list[str]:
    """Return the names of the version's tools whose definition has changed or is gone."""
    now = {name: definition_hash(spec) for name, spec in catalogue(run.workspace_id).items()}
    return [tool.name for tool in definition.tools if now.get(tool.name) != tool.pinned]


def _message(
    message: Message,
) -> contract.UserMessageOut | contract.AssistantMessageOut | contract.ToolMessageOut:
    match message:
        case AssistantMessage():
            return contract.AssistantMessageOut.of(message, role="assistant")
        case ToolMessage():
            return contract.ToolMessageOut.of(message, role="tool")
        case _:
            return contract.UserMessageOut.of(message, role="user")


def _calls(turn: Turn, past: RunHistory, offer: OfferedTools) -> list[contract.TurnCallOut]:
    after = [recorded.event for recorded in past.journal[turn.seq :]]
    asked = {e.call_id: e for e in after if isinstance(e, ApprovalRequested)}
    waited = {e.call_id: e.runs for e in after if isinstance(e, CallWaiting)}
    ended = {e.key: e.value for e in after if isinstance(e, WaitResolved)}
    found = []
    for call_id, call in zip(turn.call_ids, turn.answer.message.tool_calls, strict=True):
        spec = resolve(offer.specs, call.name)
        question, recorded = asked.get(call_id), turn.results.get(call_id)
        payload: dict[str, Any] | None = past.payloads[recorded.seq] if recorded else None
        effect = spec.effect.value if spec is not None else ""
        status = "pending" if question is None else "waiting"
        found.append(
            contract.TurnCallOut(
                call_id=call_id,
                tool=call.name,
                arguments=call.arguments,
                effect=effect if payload is None else payload.get("effect", ""),
                status=status if payload is None else payload["status"],
                result=None if payload is None else payload["content"],
                duration_ms=None if payload is None else payload.get("duration_ms", 0),
                finished_at=None if recorded is None else recorded.at,
                decision=None if question is None else _decision(ended.get(question.key)),
                runs=list(waited.get(call_id, ())),
            )
        )
    return found


def _decision(value: dict[str, Any] | None) -> contract.TurnDecisionOut | None:
    if value is None:
        return None
    names = ("status", "by", "reason", "arguments")
    return contract.TurnDecisionOut(**{name: value.get(name) for name in names})
