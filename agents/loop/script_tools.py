"""Tools of code mode: ``run_script`` runs a script of calls, ``find_tools`` finds what it may call.

The model is offered these instead of the agent's tools; short catalogues are listed whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from agents.definitions.spec import CODE_MODE_TOOLS
from heartbit_site.base.toolspec import Effect, ToolSpec, spec_of
from tools.scripts.functions import FunctionIndex, ScriptFunction, script_functions
from tools.scripts.interpreter import MAX_CALLS

RUN, FIND = CODE_MODE_TOOLS
NAMES: Final = frozenset(CODE_MODE_TOOLS)
MAX_SCRIPT: Final = 100_000  # characters
LISTED_CHARACTERS: Final = 4_000  # of functions; more of them are to be found
_MOST_FOUND: Final = 20

_RUN_TEXT: Final = f"""\
Run a Python script that calls your tools, which are async functions: await each call. Calls in \
one asyncio.gather(...) run together. Use loops and variables instead of one call at a time; what \
you print, and the value of the last line, is all you see of it. A failed call raises. The script \
has Python's language and parts of its library, but no files, network or clock, and makes at most \
{MAX_CALLS} calls. Its variables end with it."""
_LISTED: Final = "The functions:\n\n{functions}"
_TO_FIND: Final = (
    "There are {count} functions: find those that you need, with their signatures, with "
    f"{FIND}, and call them by these names."
)
_NOTHING: Final = "No function fits. Use other words: what it acts on, or what it does."


def functions_of(specs: Mapping[str, ToolSpec]) -> dict[str, ScriptFunction]:
    """Return the functions that scripts of an agent call, by name."""
    return script_functions({name: spec for name, spec in specs.items() if name not in NAMES})


def script_tools(specs: Mapping[str, ToolSpec]) -> dict[str, ToolSpec]:
    """Return the tools that stand for an agent's tools in code mode, by name."""
    functions = functions_of(specs)
    listing = "\n\n".join(function.listing for function in functions.values())
    is_listed = len(listing) <= LISTED_CHARACTERS
    which = _LISTED.format(functions=listing) if is_listed else ""
    which = which or _TO_FIND.format(count=len(functions))
    run = spec_of(run_script, effect=Effect.PURE, description=f"{_RUN_TEXT}\n{which}", labels=())
    return {RUN: run} if is_listed else {FIND: _finder(functions), RUN: run}


def _finder(functions: Mapping[str, ScriptFunction]) -> ToolSpec:
    index = FunctionIndex(functions.values())

    async def find_tools(
        query: Annotated[
            str, Field(min_length=1, max_length=500, description="Words, e.g. send mail.")
        ],
        most: Annotated[int, Field(ge=1, le=_MOST_FOUND, description="Functions at most.")] = 5,
    ) -> str:
        """Find functions for scripts, with their signatures."""
        found = index.find(query, most)
        return "\n\n".join(function.listing for function in found) or _NOTHING

    return spec_of(find_tools, effect=Effect.PURE, labels=())


async def run_script(
    script: Annotated[
        str, Field(min_length=1, max_length=MAX_SCRIPT, description="The whole script.")
    ],
) -> str:
    """Stand for the interpreter, which the run itself drives (``agents.loop.script_calls``)."""
    raise TypeError("a script is run step by step, and never as one call")
