"""Calls of a script: its next step, as the events that the turn's calls continue with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import ScriptCalled, ToolFinished
from agents.llm.messages import ToolCall
from heartbit_site.base.toolspec import Effect
from tools.result import answer
from tools.scripts.steps import PausedScript

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.ports import ReadyCall, Toolbox
    from agents.loop.state import CallState, RunState


async def advance(
    state: RunState,
    definition: AgentDefinition,
    toolbox: Toolbox,
    call: CallState,
    ready: ReadyCall,
) -> ScriptCalled | ToolFinished:
    """Take a script to its next calls, which are calls of its turn from then on, or to its end.

    A script itself changes nothing: a step that was not journaled is repeated.
    """
    results = {
        one.call_id: one.finished
        for one in state.calls.values()
        if one.parent == call.call_id and one.finished is not None
    }
    found = await toolbox.advance_script(ready, call.rounds, results)
    if isinstance(found, PausedScript):
        first = len(results)
        calls = tuple(
            ToolCall(f"{call.call_id}.{number}", one.tool, one.arguments)
            for number, one in enumerate(found.calls, first)
        )
        return ScriptCalled(
            call.call_id, first, calls, found.snapshot, found.printed, found.duration_ms
        )
    printed = "".join(one.printed for one in call.rounds) + found.printed
    text = "\n".join(filter(None, (printed.rstrip("\n"), found.text)))
    text = text or "The script ended without a value and printed nothing."
    done = answer(text, found.status, definition.max_tool_output_bytes)
    done = await toolbox.store_from_loop(call.call_id, call.call.name, done)
    return ToolFinished(
        call.call_id,
        done.status,
        done.content,
        Effect.PURE,
        sum(one.duration_ms for one in call.rounds) + found.duration_ms,
        artifact=done.artifact,
    )
