"""The worked examples of the shipped skills, read from their files.

A file has a section Task, a section Calls (a block of JSON for each call, then a block of text with
lines of its result) and a section Answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.skills.folder import SkillFolder

FILE = "references/worked-example.md"
_SECTION = re.compile(r"^## (Task|Calls|Answer)$", re.MULTILINE)
_CALL = re.compile(r"^```json\n(.*?)\n```\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class ExampleCall:
    """A call of the example, and lines that its result has."""

    tool: str
    arguments: dict[str, Any]
    expected: list[str]


@dataclass(frozen=True)
class Example:
    """A worked example."""

    task: str
    calls: list[ExampleCall]
    answer: str


def read_example(folder: SkillFolder) -> Example:
    """Return the worked example of a skill."""
    _, *parts = _SECTION.split(folder.files[FILE].decode())
    sections = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    calls = []
    for asked, shown in _CALL.findall(sections["Calls"]):
        call = json.loads(asked)
        calls.append(ExampleCall(call["tool"], call["arguments"], shown.splitlines()))
    assert len(calls) == sections["Calls"].count("```json")
    return Example(sections["Task"], calls, sections["Answer"])
