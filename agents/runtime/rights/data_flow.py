"""Labels of every source of text and every way out: the one table of the rule on mixed data.

A tool's labels are its own (``ToolSpec.labels``; a tool that declares none may return anything).
What is not a tool is listed here. A source that is missing counts as ``UNDECLARED``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbit_site.base.toolspec import UNDECLARED, Label


class TextSource(enum.StrEnum):
    """A source of text that is no tool, in words for people."""

    PERSON = "words of a person"  # the task, messages, answers
    CHANNEL = "a channel's message"
    MEMORIES = "recall"  # given at a run's start: as if it had called the tool
    MARKED_MEMORIES = "memories"  # that were stored after text by outsiders
    FILES = "files given at the start"
    DESCRIPTIONS = "descriptions of tools of MCP servers"
    PRIVATE_HOST = "a host of the private network"
    DELETED_RUN = "a deleted run"
    TREE = "what runs of the tree give each other"  # tasks, results, the blackboard, artifacts
    AGENT_MESSAGE = "an agent's message"  # has what its writer had read


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
        TextSource.TREE: _NONE,
        TextSource.AGENT_MESSAGE: _NONE,
    }
)

#: Tools that read the run's folder: what they return is known but for files given at the start.
FOLDER_READERS: Final = frozenset({"read", "glob", "grep", "shell"})

#: Ends of a run's answer: True if it leaves the installation for people or programs whom no manager
#: chose, so that it is asked about like a call that sends data out. Names are of
#: ``agents.delivery.targets.ending_of``.
ENDINGS: Final[Mapping[str, bool]] = MappingProxyType(
    {
        "email": False,  # to members, or to addresses for whom a person ordered it
        "email, external": True,  # answers of channels, whose address a stranger wrote
        "webhook": False,  # an endpoint that a manager added
        "artifact": False,  # stays here
    }
)


def labels_of(source: TextSource) -> frozenset[Label]:
    """Return the labels of a source that is no tool."""
    return SOURCES.get(source, UNDECLARED)
