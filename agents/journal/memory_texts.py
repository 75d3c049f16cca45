"""Redaction of journals: remove texts of memories that a reader may not see.

Pure. Usage::

    texts = MemoryTexts(person="ann")
    event = texts.redact(event)  # each event of one run, from the first one on
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from agents.journal.events import (
    ApprovalRequested,
    Event,
    ModelAnswered,
    RunCreated,
    RunForked,
    ScriptCalled,
    ToolFinished,
    WaitResolved,
)
from agents.llm.messages import ToolCall
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from tools.definitions.registry import same_name

RECALL: Final = "recall"
#: Tools whose arguments are texts of memories.
_WRITERS: Final = ("remember", "update_memory", "consolidate_memories")
#: Arguments of these tools that are shown to everyone.
_SHOWN: Final = frozenset({"id", "ids", "category", "importance", "only_this_conversation"})
#: Scopes of memories that may belong to a person.
_PERSONAL: Final = ("person", "conversation")
_READER: Final = "read_artifact"
#: Field with the sentence about the hidden memories.
_HIDDEN: Final = "hidden"


def is_recall(name: str) -> bool:
    """Return True if a name that a model wrote resolves to the tool that returns memories."""
    return same_name(RECALL, name)


def is_memory_tool(name: str) -> bool:
    """Return True if a call with that name has texts of memories in its result or arguments."""
    return is_recall(name) or any(same_name(writer, name) for writer in _WRITERS)


def shown_result(name: str, content: str, person: str) -> str:
    """Return a call's result for a reader who may not see a person's memories.

    Args:
        name: The tool's name as the model wrote it.
        content: The result.
        person: The person's user name; empty: no longer known.
    """
    if not is_recall(name):
        return content
    try:
        answer: Any = parse_untrusted_json(content)
        found = answer["memories"]
        kept = [one for one in found if one["scope"] not in _PERSONAL]
    except (UntrustedJSONError, TypeError, KeyError):  # cut, or an error's sentence
        return _sentence(None, person)
    hidden = len(found) - len(kept)
    if not hidden:
        return content
    return json.dumps({**answer, "memories": kept, _HIDDEN: _sentence(hidden, person)})


def shown_arguments(name: str, arguments: str, person: str) -> str:
    """Return a call's arguments, as JSON, for a reader who may not see a person's memories."""
    if not any(same_name(writer, name) for writer in _WRITERS):
        return arguments
    try:
        given = parse_untrusted_json(arguments)
    except UntrustedJSONError:
        given = None
    if not isinstance(given, dict):
        given = {}
    kept = {key: value for key, value in given.items() if key in _SHOWN}
    return json.dumps({**kept, _HIDDEN: _sentence(1, person)})


def hidden_memories(number: int | None, person: str) -> str:
    """Return the sentence that replaces memories that a reader may not see."""
    return _sentence(number, person)


def _sentence(number: int | None, person: str) -> str:
    whose = person or "a person"
    match number:
        case None:
            return f"Memories of {whose} are not shown to you."
        case 1:
            return f"1 memory of {whose} is not shown to you."
        case _:
            return f"{number} memories of {whose} are not shown to you."


def is_hidden_artifact(name: str) -> bool:
    """Return True if an artifact holds a long result of ``recall``."""
    return name.startswith(f"{RECALL}-")


@dataclass(slots=True)
class MemoryTexts:
    """Redaction of one run's journal for readers who may not see a person's memories.

    Attributes:
        person: The person's user name; empty: not known.
        hides_arguments: True if the memories that the run stores belong to a person.
        is_extraction: True if the run proposes memories, in its model's answers.
        names: Tools of the calls so far, by call id.
        readers: Calls that read the artifact of a recall.
    """

    person: str
    hides_arguments: bool = True
    is_extraction: bool = False
    names: dict[str, str] = field(default_factory=dict)
    readers: set[str] = field(default_factory=set)

    def redact(self, event: Event) -> Event:
        """Return an event without texts of the person's memories."""
        match event:
            case RunCreated(call=call) if call is not None:
                return replace(event, call=self._called("0.0", call))
            case ModelAnswered(turn=turn, message=message):
                calls = tuple(
                    self._called(f"{turn}.{n}", call) for n, call in enumerate(message.tool_calls)
                )
                text = message.text
                if self.is_extraction and self.hides_arguments and text:
                    text = _sentence(None, self.person)
                return replace(event, message=replace(message, text=text, tool_calls=calls))
            case ScriptCalled(calls=calls, call_ids=ids):
                shown = tuple(self._called(key, one) for key, one in zip(ids, calls, strict=True))
                if not any(is_recall(name) for name in self.names.values()):
                    return replace(event, calls=shown)
                # A script's state and output may repeat results of its calls.
                return replace(event, calls=shown, snapshot="", printed="")
            case ToolFinished(call_id=call_id, content=content):
                return replace(event, content=self.result_of(call_id, content))
            case ApprovalRequested(tool=tool, arguments=arguments):
                given = self.arguments(tool, json.dumps(arguments))
                return replace(event, arguments=json.loads(given))
            case WaitResolved(call_id=call_id, value=value):
                return replace(event, value=self._decided(call_id, value))
            case RunForked(edits=edits) if {"arguments", "result"} & edits.keys():
                return replace(event, edits=self._edits(edits))
        return event

    def _called(self, call_id: str, call: ToolCall) -> ToolCall:
        self.names[call_id] = call.name
        if same_name(_READER, call.name) and f'"{RECALL}-' in call.arguments:
            self.readers.add(call_id)
        return replace(call, arguments=self.arguments(call.name, call.arguments))

    def arguments(self, name: str, arguments: str) -> str:
        """Return a call's arguments, as JSON."""
        if not self.hides_arguments:
            return arguments
        return shown_arguments(name, arguments, self.person)

    def result(self, name: str, arguments: str, content: str) -> str:
        """Return the result of a call about which nothing else is known."""
        if same_name(_READER, name) and f'"{RECALL}-' in arguments:
            return _sentence(None, self.person)
        return shown_result(name, content, self.person)

    def result_of(self, call_id: str, content: str) -> str:
        """Return the result of a call whose events were redacted before."""
        below = (name for one, name in self.names.items() if one.startswith(f"{call_id}."))
        if call_id in self.readers or any(map(is_recall, below)):  # or a script that recalled
            return _sentence(None, self.person)
        return shown_result(self.names.get(call_id, ""), content, self.person)

    def _decided(self, call_id: str, value: dict[str, Any]) -> dict[str, Any]:
        arguments = value.get("arguments")
        if not isinstance(arguments, str):
            return value
        name = self.names.get(call_id, "")
        return {**value, "arguments": self.arguments(name, arguments)}

    def _edits(self, edits: dict[str, Any]) -> dict[str, Any]:
        name, shown = self.names.get(str(edits.get("call", "")), ""), dict(edits)
        if isinstance(edits.get("arguments"), str):
            shown["arguments"] = self.arguments(name, edits["arguments"])
        if isinstance(edits.get("result"), str):
            shown["result"] = shown_result(name, edits["result"], self.person)
        return shown


@dataclass(slots=True)
class TreeTexts:
    """Redaction of a tree's journals for readers who may not see a person's memories.

    Attributes:
        person: As of ``MemoryTexts``.
        hides_arguments: As of ``MemoryTexts``.
        runs: Redactions of the runs so far.
    """

    person: str
    hides_arguments: bool = True
    runs: dict[UUID, MemoryTexts] = field(default_factory=dict)

    def of(self, run_id: UUID, *, is_extraction: bool = False) -> MemoryTexts:
        """Return the redaction of a run's journal."""
        if run_id not in self.runs:
            self.runs[run_id] = MemoryTexts(self.person, self.hides_arguments, is_extraction)
        return self.runs[run_id]

    def redact(self, run_id: UUID, event: Event) -> Event:
        """Return an event of a run without texts of the person's memories."""
        texts = self.of(run_id)
        if isinstance(event, RunCreated):
            texts.is_extraction = event.kind == "extraction"
        return texts.redact(event)
