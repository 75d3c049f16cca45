"""Patterns by name, and the expansion of a pattern's table into a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents.definitions.validation_messages import check, sentence_of
from agents.workflows.patterns.concurrent import ConcurrentSpec
from agents.workflows.patterns.decompose import DecomposeSpec
from agents.workflows.patterns.group_chat import GroupChatSpec
from agents.workflows.patterns.handoff import HandoffSpec
from agents.workflows.patterns.magentic import MagenticSpec
from agents.workflows.patterns.repair_loop import RepairLoopSpec
from agents.workflows.patterns.sequential import SequentialSpec
from agents.workflows.patterns.settings import Content, PatternSpec
from agents.workflows.patterns.squad import SquadSpec

PATTERNS: Final[Mapping[str, type[PatternSpec]]] = {
    "sequential": SequentialSpec,
    "concurrent": ConcurrentSpec,
    "group_chat": GroupChatSpec,
    "handoff": HandoffSpec,
    "magentic": MagenticSpec,
    "squad": SquadSpec,
    "repair_loop": RepairLoopSpec,
    "decompose": DecomposeSpec,
}
_OTHER_FORMS: Final = ("steps", "nodes", "edges", "start")


def expand(pattern: str, settings: Any) -> Content:
    """Return the graph of a pattern: its nodes, edges, start and state.

    Args:
        pattern: Name of the pattern.
        settings: Table of its settings.

    Raises:
        ValueError: The settings are invalid; the error names all faults that it can find.
    """
    model = PATTERNS[pattern]
    try:
        found = check(model, settings, (pattern,))
        faults = [sentence_of(path, end).rstrip(".") for path, end in found]
        if not faults:
            return {**model.model_validate(settings).expand(), "pattern": pattern}
    except ValueError as error:
        faults = [f"{pattern}.{error}"]
    except RecursionError:
        faults = [f"{pattern} is nested too deeply"]
    raise ValueError(f"has a pattern that cannot be used: {'; '.join(faults)}")


def with_pattern(content: Any) -> Any:
    """Return a workflow's settings with a graph in the place of a pattern's table.

    Other settings are kept; keys of the state are added to those of the pattern. Settings without a
    pattern, or which are no table at all, are returned unchanged.

    Raises:
        ValueError: There are two patterns, another form of a graph, or invalid settings.
    """
    if not isinstance(content, Mapping):
        return content
    found = [name for name in PATTERNS if name in content]
    if not found:
        return content
    pattern, *others = [*found, *filter(content.get, _OTHER_FORMS)]
    if others:
        raise ValueError(f"has both {pattern} and {others[0]}; write one form")
    rest = {name: value for name, value in content.items() if name != pattern}
    graph, state = expand(pattern, content[pattern]), rest.get("state", {})
    if isinstance(state, Mapping):
        state = {**graph["state"], **state}
    return {**graph, **rest, "pattern": pattern, "state": state}
