"""Scripts of a run in code mode: their functions and the results of their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agents.loop import script_tools
from heartbit_site.base import orm
from heartbit_site.base.toolspec import ToolContext, ToolSpec
from tools.scripts.interpreter import ScriptInterpreter
from tools.scripts.steps import CallResult, EndedScript, PausedScript, Round, ScriptCall

if TYPE_CHECKING:
    from agents.journal.events import ScriptCalled, ToolFinished


class ScriptRuns:
    """Scripts of one run.

    Args:
        specs: Tools that a script may call, by name.
        context: Builds the context of a call from its id.
        interpreter: Runs scripts.
    """

    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        context: Callable[[str], ToolContext],
        interpreter: ScriptInterpreter | None,
    ) -> None:
        self._functions = script_tools.functions_of(specs)
        self._context = context
        self._interpreter = interpreter

    async def advance(
        self, script: str, rounds: Sequence[ScriptCalled], results: Mapping[str, ToolFinished]
    ) -> PausedScript | EndedScript:
        """Advance a script to its next calls, or to its end; see ``Toolbox.advance_script``."""
        if self._interpreter is None:
            raise TypeError("an agent in code mode needs an interpreter")
        whole = {name: await self._whole(one) for name, one in results.items()}
        steps = [
            Round(
                tuple(ScriptCall(call.name, call.arguments) for call in one.calls),
                tuple(whole[call_id] for call_id in one.call_ids),
                one.snapshot,
            )
            for one in rounds
        ]
        return await self._interpreter.advance(script, self._functions, steps)

    async def _whole(self, finished: ToolFinished) -> CallResult:
        """Return a call's result for its script: whole, where the model would see a part."""
        content = finished.content
        read = self._context(finished.call_id).read_artifact
        if finished.artifact and read is not None:
            stored = await orm.read_in_thread(partial(read, finished.artifact))
            content = stored.decode(errors="replace")
        return CallResult(finished.status, content)
