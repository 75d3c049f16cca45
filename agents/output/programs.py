"""Programs that a run has executed with ``run_code``, as parts of its result. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from heartbit_site.base.untrusted import JSONValue

#: The tools that execute programs.
TOOLS: Final = ("run_code", "run_code_online")


@dataclass(frozen=True, slots=True)
class ExecutedProgram:
    """A program and its end.

    Attributes:
        code: Its source.
        executed: False if it never began: the call was refused, denied or not valid.
        exit_code: None if it never began, or was ended by a limit or by a cancellation.
        output: What it printed.
        error: What it printed as errors, or the reason why it did not begin or was ended.
        files: Names of the artifacts with the files that it left, by the names of the files.
        decides: True if its end decides about the success of its run.
    """

    code: str
    executed: bool
    exit_code: int | None
    output: str
    error: str
    files: Mapping[str, str] = field(default_factory=dict)
    decides: bool = False

    @property
    def problem(self) -> str:
        """Reason why its end makes the run unsuccessful: a sentence; empty if it does not."""
        if not self.decides or (self.executed and self.exit_code == 0):
            return ""
        if not self.executed:
            return f"The program was not run: {self.error or 'its call had no result.'}"
        if self.exit_code is None:
            return "The program was ended before its end."
        return f"The program ended with exit code {self.exit_code}."

    @property
    def log(self) -> str:
        """Its output, errors last."""
        if not self.executed:
            return ""
        between = "\n" if self.output and not self.output.endswith("\n") and self.error else ""
        return f"{self.output}{between}{self.error}"

    def data(self) -> dict[str, JSONValue]:
        """Return the program as the data of a result."""
        return {
            "output": self.output,
            "error": self.error,
            "code": self.code,
            "exit_code": self.exit_code,
            "executed": self.executed,
        }


def read_program(status: str, arguments: str, result: str | None) -> ExecutedProgram:
    """Return the program of a call, from its stored form.

    Args:
        status: Status of the call.
        arguments: Its arguments: JSON as the model wrote it.
        result: Its whole result; None without one.
    """
    found = _object(result or "") if status == "ok" else None
    given = _object(arguments) or {}
    code = str(given.get("code", ""))
    if found is None:
        return ExecutedProgram(code, executed=False, exit_code=None, output="", error=result or "")
    exit_code, files = found.get("exit_code"), found.get("artifacts")
    errors = [str(found[name]) for name in ("stderr", "ended") if found.get(name)]
    return ExecutedProgram(
        code,
        executed=True,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        output=str(found.get("stdout", "")),
        error="\n".join(errors),
        files={str(k): str(v) for k, v in files.items()} if isinstance(files, dict) else {},
    )


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
