"""Execution mode: run the code of an answer as a call of ``run_code``, or only show it. Pure.

Code means fenced blocks (CommonMark 0.31, section 4.5) that name a language, except those of data
and markup. A block in a language that cannot be run becomes a call, too: its refusal names those
that can, so nothing is skipped in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, TypeAlias

from agents.definitions.spec import CODE_TOOL
from agents.llm.messages import AssistantMessage, Message, ToolCall

Mode: TypeAlias = Literal["never", "always", "auto", "task"]

_LANGUAGE_CHARACTERS: Final = 32
_LANGUAGES: Final = {
    "python": "python",
    "python3": "python",
    "py": "python",
    "javascript": "javascript",
    "js": "javascript",
    "node": "javascript",
    "typescript": "typescript",
    "ts": "typescript",
    "bash": "shell",
    "sh": "shell",
    "shell": "shell",
}
#: Names of blocks that are no programs.
_DATA: Final = frozenset(
    [
        *("", "text", "txt", "plain", "plaintext", "output", "console", "log", "none", "math"),
        *("json", "jsonc", "jsonl", "json5", "yaml", "yml", "toml", "ini", "csv", "tsv", "env"),
        *("xml", "html", "svg", "css", "markdown", "md", "rst", "tex", "latex", "mermaid", "dot"),
        *("diff", "patch", "http", "properties", "conf", "nginx", "dockerfile", "makefile"),
    ]
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")
_MARK: Final = re.compile(r"\[\s*(NO_)?EXECUTE\s*\]|<!--\s*(NO_)?EXECUTE\s*-->", re.IGNORECASE)
#: The first verb of action in a task; group 1 if it asks to run something.
_ACTION: Final = re.compile(
    r"\b(?:(execute|run|test|build|deploy|install|validate)"
    r"|review|analy[sz]e|explain|document|generate|refactor|suggest|plan)\b",
    re.IGNORECASE,
)

_NOTES: Final = {
    "always": (
        "Code in fenced blocks of your answers is run, and you are given its result. Answer "
        "without such a block, or write [NO_EXECUTE], when nothing is left to run."
    ),
    "auto": (
        "Code in fenced blocks of an answer that contains [EXECUTE] is run, and you are given its "
        "result; without [EXECUTE], or with [NO_EXECUTE], it is only shown."
    ),
}
_NOTES["task"] = _NOTES["always"]


@dataclass(frozen=True, slots=True)
class Code:
    """A fenced block of code.

    Attributes:
        language: As ``run_code`` names it; one that it does not know is as it was written.
    """

    language: str
    code: str


def note(mode: Mode, task: str) -> str:
    """Return the system prompt's note on the mode; empty if the mode needs none."""
    if mode == "task" and not is_work(task):
        return ""
    return _NOTES.get(mode, "")


def is_work(task: str) -> bool:
    """Return True if the first action verb of a task asks to run code."""
    found = _ACTION.search(task)
    return found is not None and found[1] is not None


def code_in(text: str) -> list[Code]:
    """Return the code of an answer."""
    return _take_apart(text)[1]


def with_code_called(
    message: AssistantMessage, mode: Mode, task: str, *, turn: int, earlier: Iterable[Message]
) -> AssistantMessage:
    """Return an answer with calls that run its code, if the mode requires it; else unchanged.

    An answer that calls tools itself is not changed. Code that was run before is not run again:
    models tend to repeat it next to its result.

    Args:
        message: The answer.
        mode: The agent's mode.
        task: The run's task.
        turn: The answer's turn.
        earlier: The conversation before it.
    """
    if mode == "never" or message.tool_calls:
        return message
    prose, codes = _take_apart(message.text)
    if not codes or not _is_to_run(mode, task, prose):
        return message
    done = _run_before(earlier)
    calls = tuple(
        ToolCall(f"code_{turn}_{index}", CODE_TOOL, json.dumps(asdict(code), ensure_ascii=False))
        for index, code in enumerate(codes)
        if code not in done
    )
    return replace(message, tool_calls=calls)


def _is_to_run(mode: Mode, task: str, prose: str) -> bool:
    forbids = [bool(found[1] or found[2]) for found in _MARK.finditer(prose)]
    if any(forbids):
        return False
    return bool(forbids) if mode == "auto" else mode == "always" or is_work(task)


def _run_before(conversation: Iterable[Message]) -> set[Code]:
    answers = (one for one in conversation if isinstance(one, AssistantMessage))
    ran = (one for one in answers if any(call.name == CODE_TOOL for call in one.tool_calls))
    return {code for answer in ran for code in code_in(answer.text)}


def _take_apart(text: str) -> tuple[str, list[Code]]:
    """Return the text outside all fenced blocks, and the code in them."""
    prose: list[str] = []
    codes: list[Code] = []
    lines = iter(text.splitlines())
    for line in lines:
        opening = _FENCE.fullmatch(line)
        if opening is None:
            prose.append(line)
            continue
        block = _rest_of_block(lines, opening[1])
        written = opening[2].lower().strip("{}.")
        if block and written not in _DATA:
            codes.append(Code(_LANGUAGES.get(written, written[:_LANGUAGE_CHARACTERS]), block))
    return "\n".join(prose), codes


def _rest_of_block(lines: Iterator[str], fence: str) -> str:
    """Return a block's text; empty if the block is not closed, because the answer was cut off."""
    block: list[str] = []
    for line in lines:
        end = line.strip()
        if len(end) >= len(fence) and not end.strip(fence[0]):
            return "\n".join(block)
        block.append(line)
    return ""
