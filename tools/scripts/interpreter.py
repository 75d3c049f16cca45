"""ScriptInterpreter of scripts: Monty, a Python of its own in processes of its own.

A script has only the language and the tools: no files, no network, no clock, no randomness.
It pauses when it awaits calls; the pause is a snapshot that any process resumes. So a step begins
with the last snapshot and ends at the next pause, and nothing of a script is kept in between. A
snapshot of another version of the interpreter is not read: the script runs again from its start
with the results that it had, and has to make the same calls.
"""

from __future__ import annotations

import asyncio
import base64
import builtins
import json
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pydantic_monty as monty
from pydantic_core import to_jsonable_python

from tools.scripts.steps import CallResult, EndedScript, PausedScript, Round, ScriptCall

if TYPE_CHECKING:
    from tools.scripts.functions import ScriptFunction

MAX_CALLS: Final = 500  # of one script
MAX_TOGETHER: Final = 64  # of them at a time
MAX_ARGUMENTS: Final = 4_000_000  # characters of JSON, of all of them together
MAX_SECONDS: Final = 5.0  # in the interpreter, between two pauses
MAX_MEMORY: Final = 64 * 1024 * 1024
MAX_DEPTH: Final = 200
MAX_PRINTED: Final = 1024 * 1024  # bytes, between two pauses
MAX_SNAPSHOT: Final = 128 * 1024  # characters; of a script that holds more, none is kept
MAX_SNAPSHOTS: Final = 32 * MAX_SNAPSHOT  # of all snapshots of a script; none is kept of the rest

_LIMITS: Final[monty.ResourceLimits] = {
    "max_turn_duration_secs": MAX_SECONDS,
    "max_memory": MAX_MEMORY,
    "max_recursion_depth": MAX_DEPTH,
    "max_suspensions": 10 * MAX_CALLS,  # names that are looked up count, too
}
# The same script makes the same calls, whenever and wherever it runs.
_POLICY: Final[monty.OSPolicy] = {
    "datetime": "call_host",
    "sleep": "call_host",
    "random_start": {"seed": 0},
}
_NO_CLOCK: Final = "scripts have no clock and cannot sleep; a tool may know the time"
_NO_INTERPRETER: Final = "No interpreter became free in time: try again."
_CHANGED: Final = (
    "The script could not be continued, because another version of the interpreter made other "
    "calls. Its earlier calls took effect: check before you repeat one."
)
_HEADER: Final = "from typing import Any, Literal\n"
_VERSION: Final = f"monty-{monty.__version__}"
_WORD: Final = re.compile(r"\w+")
_FILE: Final = re.compile(r'"<python-input-\d+>"')
_TIMES: Final = ("time.", "datetime.", "date.", "asyncio.sleep")
_DIAGNOSTIC: Final = re.compile(r":(\d+):\d+: error\[([a-z-]+)\] (.*)")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_CERTAIN_RULES: Final = frozenset(
    {
        "invalid-argument-type",
        "missing-argument",
        "too-many-positional-arguments",
        "unknown-argument",
        "unresolved-import",
    }
)
_WAIT_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 10.0  # of a process that does not even say that its time is over
_EXCEPTIONS: Final[Mapping[str, monty.ExcType]] = {
    "refused": "PermissionError",
    "timeout": "TimeoutError",
    "invalid": "ValueError",
}


class InvalidScriptError(Exception):
    """A script makes an invalid call; the text names the line."""


class ChangedScriptError(Exception):
    """A script that ran again made other calls than before."""


class ScriptInterpreter:
    """ScriptInterpreter of one process; its own processes start with the first script."""

    def __init__(self) -> None:
        self._pool: monty.AsyncMonty | None = None
        self._opening = asyncio.Lock()

    async def aclose(self) -> None:
        """End the processes."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def advance(
        self, script: str, functions: Mapping[str, ScriptFunction], rounds: Sequence[Round]
    ) -> PausedScript | EndedScript:
        """Run a script from its last pause to the next one, or to its end.

        Args:
            script: The script.
            functions: Functions that it may call, by name.
            rounds: Its calls so far.
        """
        began = time.monotonic()
        step = _Step(functions, rounds)
        try:
            found = await self._advance(script, step)
        except InvalidScriptError as error:
            found = EndedScript("invalid", str(error))
        except (monty.MontySyntaxError, monty.MontyTypingError) as error:
            found = EndedScript("invalid", _readable(error))
        except ChangedScriptError:
            found = EndedScript("error", _CHANGED)
        except monty.MontyError as error:
            found = EndedScript("error", _readable(error))
        except TimeoutError:
            found = EndedScript("error", _NO_INTERPRETER)
        took = round((time.monotonic() - began) * 1000)
        return replace(found, printed=step.printed, duration_ms=took)

    async def _advance(self, script: str, step: _Step) -> PausedScript | EndedScript:
        pool = await self._opened()
        async with pool.checkout(
            script_name="script.py",
            limits=_LIMITS,
            os_policy=_POLICY,
            type_check=not step.rounds,
            type_check_stubs=_stubs(script, step.functions),
            type_check_format="concise",
        ) as session:
            return await step.take(session, script)

    async def _opened(self) -> monty.AsyncMonty:
        async with self._opening:
            if self._pool is None:
                pool = monty.AsyncMonty(
                    checkout_timeout=_WAIT_SECONDS, request_timeout=MAX_SECONDS + _GRACE_SECONDS
                )
                self._pool = await pool.__aenter__()
            return self._pool


class _Step:
    """One step of a script."""

    def __init__(self, functions: Mapping[str, ScriptFunction], rounds: Sequence[Round]) -> None:
        self.functions = functions
        self.rounds = rounds
        self._output = monty.CollectString(max_bytes=MAX_PRINTED)
        self._printed_before = 0
        self._calls: dict[int, ScriptCall] = {}

    @property
    def printed(self) -> str:
        """Text printed in this step."""
        return self._output.output[self._printed_before :]

    async def take(
        self, session: monty.AsyncMontySession, script: str
    ) -> PausedScript | EndedScript:
        """Continue from the last snapshot, or from the beginning with the results there are."""
        state = _unpacked(self.rounds[-1].snapshot) if self.rounds else None
        at: monty.AsyncSnapshot
        if state is None:
            at = await self._run(await self._begin(session, script))
        else:
            at = await session.load_snapshot(state, print_callback=self._output)
        for one in self.rounds if state is None else self.rounds[-1:]:
            is_same = state is not None or self._made() == one.calls
            if not isinstance(at, monty.AsyncFutureSnapshot) or not is_same:
                raise ChangedScriptError
            self._printed_before = len(self._output.output)
            self._calls = {}
            ids = sorted(at.pending_call_ids)
            answers = (self._answer(*each) for each in zip(one.calls, one.results, strict=True))
            at = await self._run(await at.resume(dict(zip(ids, answers, strict=True))))
        if isinstance(at, monty.AsyncFutureSnapshot):
            room = MAX_SNAPSHOTS - sum(len(one.snapshot) for one in self.rounds)
            return PausedScript(self._made(), _packed(at.dump(), room))
        if not isinstance(at, monty.MontyComplete):
            raise TypeError("a script ends, or waits for calls")
        if self._calls:
            names = ", ".join(dict.fromkeys(call.tool for call in self._made()))
            return EndedScript("error", f"Not awaited, so not called: {names}. Write await before.")
        return EndedScript("ok", _as_text(at.output))

    async def _begin(self, session: monty.AsyncMontySession, script: str) -> monty.AsyncSnapshot:
        """Start a script.

        Its types are checked first, so that an invalid call is found before any effect.
        """
        try:
            return await session.feed_start(script, print_callback=self._output)
        except monty.MontyTypingError as error:
            if faults := _faults(error, script):
                raise InvalidScriptError("\n".join(faults)) from error
            return await session.feed_start(
                script, print_callback=self._output, skip_type_check=True
            )

    def _made(self) -> tuple[ScriptCall, ...]:
        return tuple(call for _, call in sorted(self._calls.items()))

    def _answer(self, call: ScriptCall, result: CallResult) -> monty.ExternalSettledResult:
        if result.status == "ok":
            known = (one for one in self.functions.values() if one.tool == call.tool)
            function = next(known, None)  # a tool that was withdrawn meanwhile has answered, too
            return {"return_value": function.value(result.content) if function else result.content}
        kind = _EXCEPTIONS.get(result.status, "RuntimeError")
        return {"exc_type": kind, "message": result.content}

    async def _run(
        self, at: monty.AsyncSnapshot
    ) -> monty.AsyncFutureSnapshot | monty.MontyComplete:
        """Run until nothing is left to do without the calls' results."""
        while True:
            match at:
                case monty.AsyncFutureSnapshot() | monty.MontyComplete():
                    return at
                case monty.AsyncNameLookupSnapshot():
                    name = at.variable_name
                    known = at.object_id is None and name in self.functions
                    at = await (at.resume(value=_placeholder(name)) if known else at.resume())
                case monty.AsyncFunctionSnapshot():
                    at = await self._called(at)

    async def _called(self, at: monty.AsyncFunctionSnapshot) -> monty.AsyncSnapshot:
        if at.is_os_function:
            if at.function_name.startswith(_TIMES):
                return await at.resume({"exc_type": "RuntimeError", "message": _NO_CLOCK})
            return await at.resume_not_handled()
        function = self.functions.get(at.function_name)
        if function is None:
            message = f"name {at.function_name!r} is not defined"
            return await at.resume({"exc_type": "NameError", "message": message})
        count = len(self._calls) + 1
        if count > MAX_TOGETHER:
            message = f"at most {MAX_TOGETHER} calls may wait at once: await some first"
            return await at.resume({"exc_type": "RuntimeError", "message": message})
        if count + sum(len(one.calls) for one in self.rounds) > MAX_CALLS:
            message = f"a script makes at most {MAX_CALLS} calls"
            return await at.resume({"exc_type": "RuntimeError", "message": message})
        try:
            arguments = function.arguments(at.args, at.kwargs)
        except (TypeError, ValueError) as error:
            return await at.resume({"exception": error})
        made = chain(self._calls.values(), *(one.calls for one in self.rounds))
        if len(arguments) + sum(len(one.arguments) for one in made) > MAX_ARGUMENTS:
            message = f"the calls of a script take at most {MAX_ARGUMENTS:,} characters in all"
            return await at.resume({"exc_type": "RuntimeError", "message": message})
        self._calls[at.call_id] = ScriptCall(function.tool, arguments)
        return await at.resume({"future": ...})


def _faults(error: monty.MontyTypingError, script: str) -> list[str]:
    """Return the type checker's certain errors about calls.

    The checker knows less of Python's library than the interpreter does, takes each value of a
    dictionary that is spread into arguments for all of them, and lets no variable have the name of
    a function.
    """
    lines = _LINE_END.split(script)  # as Python counts lines; str.splitlines finds more
    return [line for line in error.display().split("\n") if _is_fault(line, lines)]


def _is_fault(line: str, script: list[str]) -> bool:
    found = _DIAGNOSTIC.search(line)
    if found is None:
        return False
    number, rule, text = found.groups()
    if rule == "unresolved-reference":
        return not any(f"`{name}`" in text for name in dir(builtins))
    if rule == "invalid-argument-type" and "**" in "".join(script[int(number) - 1 : int(number)]):
        return False
    if "`def " in text:  # a variable that has a function's name, and to the checker its type
        return False
    return rule in _CERTAIN_RULES or "CoroutineType" in text


def _placeholder(name: str) -> Any:
    """Return the value of a function's name before it is called."""

    def function() -> None:
        """Placeholder for a function, which the interpreter knows by name."""

    function.__name__ = name
    return function


def _stubs(script: str, functions: Mapping[str, ScriptFunction]) -> str:
    """Return the declarations of the functions that a script names."""
    words = frozenset(_WORD.findall(script))
    stubs = [function.stub for name, function in functions.items() if name in words]
    return "\n".join([_HEADER, *stubs, ""])


def _readable(error: monty.MontyError) -> str:
    """Return an error with its line, as the model reads it."""
    if isinstance(error, monty.MontyTypingError):
        return error.display().strip()
    if isinstance(error, (monty.MontyRuntimeError, monty.MontySyntaxError)):
        return _FILE.sub('"script.py"', error.display()).strip()
    return f"The interpreter ended: {error}"


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    plain = to_jsonable_python(value, fallback=repr, inf_nan_mode="strings")
    return json.dumps(plain, ensure_ascii=False)


def _packed(state: bytes, room: int) -> str:
    """Return a snapshot as text; empty if it is too large, or exceeds the remaining space."""
    text = f"{_VERSION}:{base64.b64encode(zlib.compress(state)).decode()}"
    return text if len(text) <= min(MAX_SNAPSHOT, room) else ""


def _unpacked(text: str) -> bytes | None:
    """Return a snapshot of this version of the interpreter, or None."""
    version, _, packed = text.partition(":")
    return zlib.decompress(base64.b64decode(packed)) if version == _VERSION else None
