"""Labels of every source of text and every output: the one table of the rule on mixed data.

A tool declares its own labels (``ToolSpec.labels``; a tool without labels may return anything).
Other sources are listed here. A missing source counts as ``UNDECLARED``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbit_site.base.toolspec import UNDECLARED, Label


class TextSource(enum.StrEnum):
    """A source of text other than a tool, in words for people."""

    PERSON = "words of a person"  # the task, messages, answers
    CHANNEL = "a channel's message"
    MEMORIES = "recall"  # given at a run's start, like a call of the tool
    MARKED_MEMORIES = "memories"  # memories stored after text by outsiders
    FILES = "files given at the start"
    DESCRIPTIONS = "descriptions of tools of MCP servers"
    PRIVATE_HOST = "a host of the private network"
    DELETED_RUN = "a deleted run"
    CHANGED_ROW = "a row that an agent changed"
    TREE = "what runs of the tree give each other"  # tasks, results, the blackboard, artifacts
    AGENT_MESSAGE = "an agent's message"  # may contain anything that its sender had read


_NONE: Final[frozenset[Label]] = frozenset()
SOURCES: Final[Mapping[TextSource, frozenset[Label]]] = MappingProxyType(
    {
        TextSource.PERSON: _NONE,
        TextSource.CHANNEL: frozenset({Label.UNTRUSTED}),
        TextSource.MEMORIES: frozenset({Label.PRIVATE}),
        TextSource.MARKED_MEMORIES: frozenset({Label.UNTRUSTED}),
        TextSource.FILES: UNDECLARED,
        TextSource.DESCRIPTIONS: frozenset({Label.UNTRUSTED}),
        TextSource.PRIVATE_HOST: frozenset({Label.PRIVATE}),
        TextSource.DELETED_RUN: UNDECLARED,
        TextSource.CHANGED_ROW: UNDECLARED,  # it may contain anything that the agent had read
        TextSource.TREE: _NONE,
        TextSource.AGENT_MESSAGE: _NONE,
    }
)

#: Tools that read the run's folder: they add no new source unless files were given at the start.
FOLDER_READERS: Final = frozenset({"read", "glob", "grep", "shell"})

#: Destinations of a run's answer: True if the answer leaves the installation for a recipient that
#: no manager chose, so that it needs an approval like a call that sends data out. The names are
#: those of ``agents.delivery.targets.ending_of``.
ENDINGS: Final[Mapping[str, bool]] = MappingProxyType(
    {
        "email": False,  # to members, or to addresses that a person chose
        "email, external": True,  # answers of channels, to an address that a stranger wrote
        "webhook": False,  # an endpoint that a manager added
        "artifact": False,  # stays here
        "drive": False,  # stays here
    }
)


def labels_of(source: TextSource) -> frozenset[Label]:
    """Return the labels of a source other than a tool."""
    return SOURCES.get(source, UNDECLARED)
