"""Errors in the results of checks, read from what a program of the sandbox has printed.

A check has passed if its program ended with exit code 0. The errors of one that failed are those of
a line ``{"errors": [{"class", "message", "file", "line"}]}`` at the end of its standard output, or
else tracebacks of Python, stacks of JavaScript and lines of compilers. The text is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from agents.workflows.repairs.findings import Finding, SourceFrame
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

MAX_ERRORS: Final = 20
MAX_MESSAGE: Final = 1_000
_MAX_TEXT: Final = 100_000  # characters at the end of each stream that are read
_MAX_LINE: Final = 2_000
_TAIL_LINES: Final = 20

_PYTHON_FRAME: Final = re.compile(r'\s*File "([^"]+)", line (\d+)(?:, in (.+))?$')
_STACK_FRAME: Final = re.compile(
    r"\s+at (?:(?:async |new )?([^()\s]+) .*?\(|)([^()\s]+):(\d+):\d+\)?$"
)
_SOURCE_LINE: Final = re.compile(r"(\S+):(\d+)$")
_RAISED: Final = re.compile(r"(?:Uncaught )?([A-Za-z_][\w.]{0,100})(?: \[\w+\])?(?:: (.*)|)$")
_COMPILER: Final = re.compile(
    r"([^\s:()]+)[:(](\d+)(?:[:,]\d+)?\)?: (?:(?:fatal )?error:? )?"
    r"(?:([A-Z]{1,4}\d{1,5}):? )?(.+)$"
)


def errors_in(check: str, result: Mapping[str, Any], files: Collection[str]) -> list[Finding]:
    """Return the errors of a check; empty if it has passed.

    Args:
        check: Name of the check.
        result: Result of the tool ``run_code``.
        files: Paths of the files that were checked; places elsewhere are left out.
    """
    if result.get("exit_code") == 0:
        return []
    stdout, stderr = (str(result.get(name, ""))[-_MAX_TEXT:] for name in ("stdout", "stderr"))
    found = list(_written(check, stdout, files))
    lines = [line[:_MAX_LINE] for line in f"{stderr}\n{stdout}".splitlines()]
    found = found or list(_raised(check, lines, files)) or list(_compiled(check, lines, files))
    if not found:
        tail = "\n".join([line for line in lines if line.strip()][-_TAIL_LINES:])
        message = " ".join([str(result.get("ended", "")), tail[-MAX_MESSAGE:]]).strip()
        code = result.get("exit_code")
        found = [Finding(check, "CheckFailed", message or f"it ended with exit code {code}")]
    return list(dict.fromkeys(found))[:MAX_ERRORS]


def _written(check: str, stdout: str, files: Collection[str]) -> Iterator[Finding]:
    """Yield the errors that the program has written as JSON itself."""
    last = stdout.strip().rpartition("\n")[2]
    try:
        content = parse_untrusted_json(last, max_bytes=_MAX_TEXT * 4)
    except UntrustedJSONError:
        return
    listed = content.get("errors") if isinstance(content, dict) else None
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict):
            line, file = one.get("line"), str(one.get("file", ""))
            frame = _frame(file, line if isinstance(line, int) else 0, "", files)
            kind, message = (str(one.get(name, ""))[:MAX_MESSAGE] for name in ("class", "message"))
            yield Finding(check, kind or "CheckFailed", message, tuple(filter(None, [frame])))


def _raised(check: str, lines: list[str], files: Collection[str]) -> Iterator[Finding]:
    """Yield the errors of tracebacks: Python's frames come before the error, and Node's after."""
    raised: list[tuple[re.Match[str], list[SourceFrame | None], list[SourceFrame | None]]] = []
    before: list[SourceFrame | None] = []
    after: list[SourceFrame | None] = []
    for line in lines:
        if match := _STACK_FRAME.match(line):
            after.append(_frame(match[2], int(match[3]), match[1] or "", files))
        elif not line.startswith("    at "):
            after = []
            if match := _PYTHON_FRAME.match(line):
                before.append(_frame(match[1], int(match[2]), match[3] or "", files))
            elif match := _SOURCE_LINE.match(line):
                before = [_frame(match[1], int(match[2]), "", files)]
            elif match := _RAISED.match(line):
                raised.append((match, after, before))
                before = []
    for match, later, earlier in raised:
        if later or earlier:
            frames = tuple(filter(None, [*later, *reversed(earlier)]))
            yield Finding(check, match[1], (match[2] or "")[:MAX_MESSAGE], frames)


def _compiled(check: str, lines: list[str], files: Collection[str]) -> Iterator[Finding]:
    for line in lines:
        match = _COMPILER.match(line)
        frame = match and _frame(match[1], int(match[2]), "", files)
        if match and frame:
            yield Finding(check, match[3] or "error", match[4][:MAX_MESSAGE], (frame,))


def _frame(path: str, line: int, function: str, files: Collection[str]) -> SourceFrame | None:
    """Return a place in one of the files; None: it is elsewhere."""
    ends = (file for file in files if path == file or path.endswith(f"/{file}"))
    file = max(ends, key=len, default=None)
    return None if file is None else SourceFrame(file, line, function)
