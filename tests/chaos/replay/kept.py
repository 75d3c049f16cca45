"""Journals as test data: one line of JSON a run, with the decision at each of its points."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agents.definitions import snapshot
from agents.journal.events import decode_row
from agents.loop import delegation
from agents.loop.agent_state import AgentState
from agents.loop.past_runs import to_messages
from agents.runtime.toolset.offer import OfferedTools
from heartbit_site.base.toolspec import Effect, ToolSpec
from tests.chaos.replay.probe import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agents.definitions.definition import AgentDefinition
    from agents.journal.events import RecordedEvent

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Tool:
    """What the model was offered, as it was then: its words are not what is tested here."""

    name: str
    hash: str
    description: str
    parameters: dict[str, Any]
    effect: str
    timeout_seconds: float
    defaults: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """After this event the loop decides; what it decided."""

    seq: int
    kind: str
    digest: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A run.

    Attributes:
        shape: What kind of run it was, for people.
        snapshot: Its agent's version.
        thread: What was said on its conversation before it.
        events: Its journal, as stored.
    """

    shape: str
    id: str
    agent: str
    snapshot: dict[str, Any]
    approve: bool
    tools: tuple[Tool, ...]
    thread: tuple[dict[str, Any], ...]
    events: tuple[dict[str, Any], ...]
    points: tuple[Point, ...] = ()

    def subject(self) -> Subject:
        """The run as the engine sees it.

        Raises:
            ConfigurationError: A newer Heartbit wrote its version.
        """
        definition = snapshot.read(1, 1, self.agent, self.snapshot)
        specs = {tool.name: _spec(tool, definition) for tool in self.tools}
        offer = OfferedTools(specs, {tool.name: tool.hash for tool in self.tools})
        return Subject(UUID(self.id), definition, offer, self.approve)

    def journal(self) -> list[RecordedEvent]:
        """Its events.

        Raises:
            KeyError: A newer Heartbit wrote one.
            pydantic.ValidationError: The same.
        """
        return [decode_row(event) for event in self.events]

    def beginning(self) -> AgentState:
        """What the run was before its first event."""
        return AgentState.begin(to_messages(self.thread))


def _spec(tool: Tool, definition: AgentDefinition) -> ToolSpec:
    if tool.name == delegation.NAME:
        known = delegation.delegate_task(definition)
        return replace(known, description=tool.description, parameters=tool.parameters)
    return ToolSpec(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        function=_never,
        effect=Effect(tool.effect),
        timeout_seconds=tool.timeout_seconds,
        defaults=tool.defaults,
    )


def _never(**_: object) -> None:
    raise AssertionError("a replay calls no tool")


def load() -> Iterator[Kept]:
    """All that were ever kept."""
    for path in sorted(HERE.glob("journals-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(_read, file)


def save(path: Path, journals: Sequence[Kept]) -> None:
    """Write them; the same journals give the same bytes."""
    lines = (
        json.dumps(asdict(each), ensure_ascii=False, separators=(",", ":")) for each in journals
    )
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))


def _read(line: str) -> Kept:
    value = json.loads(line)
    tools = tuple(Tool(**tool) for tool in value.pop("tools"))
    points = tuple(Point(**point) for point in value.pop("points"))
    thread, events = tuple(value.pop("thread")), tuple(value.pop("events"))
    return Kept(**value, tools=tools, points=points, thread=thread, events=events)
