"""Calls of a script: one step of the script, as the next events of its turn.

Each event of a script carries the text printed since the previous event. Together they keep at
most as much as the agent's model may read of a result: a script may make hundreds of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agents.journal.events import ScriptCalled, ToolFinished
from agents.llm.messages import ToolCall
from agents.loop.call_state import CallingState, CallState
from agents.loop.ports import ReadyCall, Toolbox
from heartbit_site.base.toolspec import Effect
from tools.calls.result import answer
from tools.scripts.steps import PausedScript

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

_CUT: Final = "\n[cut: more was printed before the script's end than is kept]\n"


async def advance(
    state: CallingState,
    definition: AgentDefinition,
    toolbox: Toolbox,
    call: CallState,
    ready: ReadyCall,
) -> ScriptCalled | ToolFinished:
    """Advance a script to its next calls, which join the calls of its turn, or to its end.

    The script itself has no effects, so a step that was not journaled can be repeated.
    """
    results = {
        one.call_id: one.finished
        for one in state.calls.values()
        if one.parent == call.call_id and one.finished is not None
    }
    found = await toolbox.advance_script(ready, call.rounds, results)
    most = definition.max_tool_output_bytes
    if isinstance(found, PausedScript):
        first = len(results)
        calls = tuple(
            ToolCall(f"{call.call_id}.{number}", one.tool, one.arguments)
            for number, one in enumerate(found.calls, first)
        )
        return ScriptCalled(
            call.call_id,
            first,
            calls,
            found.snapshot,
            _kept(found.printed, call.rounds, most),
            found.duration_ms,
        )
    printed = "".join(one.printed for one in call.rounds) + found.printed
    text = "\n".join(filter(None, (printed.rstrip("\n"), found.text)))
    text = text or "The script ended without a value and printed nothing."
    done = answer(text, found.status, most)
    done = await toolbox.store_from_loop(call.call_id, call.call.name, done)
    return ToolFinished(
        call.call_id,
        done.status,
        done.content,
        Effect.PURE,
        sum(one.duration_ms for one in call.rounds) + found.duration_ms,
        artifact=done.artifact,
    )


def _kept(printed: str, rounds: Sequence[ScriptCalled], most: int) -> str:
    """Return the part of a printed text that an event keeps, after the earlier rounds."""
    room = most - sum(len(one.printed.encode()) for one in rounds)
    data = printed.encode()
    if len(data) <= room:
        return printed
    # Negative once an earlier event was cut: its note already exceeded the limit.
    return "" if room < 0 else data[:room].decode("utf-8", "ignore") + _CUT
