"""Calls of a script: its next step, as the events that the turn's calls continue with.

Each event of a script carries what was printed since the one before. All of them together keep as
much as the agent's model may read of a result: a script may make hundreds of calls.
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
    """Take a script to its next calls, which are calls of its turn from then on, or to its end.

    A script itself changes nothing: a step that was not journaled is repeated.
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
    """Return what an event keeps of a printed text, after the rounds before it."""
    room = most - sum(len(one.printed.encode()) for one in rounds)
    data = printed.encode()
    if len(data) <= room:
        return printed
    # A note that was added before left no room, not even for itself.
    return "" if room < 0 else data[:room].decode("utf-8", "ignore") + _CUT
