"""Outcomes of routing: a commit, the end of the run, or an error that names its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agents.workflows.events import GraphCommitted

#: Reasons, errors or names that one sentence lists at most.
MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class GraphSucceeded:
    """End of a run with its output.

    Attributes:
        left_out: Sentence on nodes that failed, and without which the run continued; empty: none.
    """

    output: Any
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class GraphFailed:
    """End of a run with an error.

    Attributes:
        message: Sentence that names the node, the edge and the reason.
        node: Node at which the run failed; empty: none in particular.
        edge: Edge at which the run failed, such as ``a → b``; empty: none in particular.
        limit: Name of the limit that was reached; empty: none.
    """

    message: str
    node: str = ""
    edge: str = ""
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Routed:
    """Result of routing; journal the commit, and end the run if there is an ending.

    Attributes:
        commit: Commit of the superstep; None: the run failed before it.
        ending: End of the run; None: it continues.
    """

    commit: GraphCommitted | None
    ending: GraphSucceeded | GraphFailed | None = None


class RoutingError(Exception):
    """Routing fails, and so does the run.

    Attributes:
        failure: The end of the run.
    """

    def __init__(self, message: str, *, node: str = "", edge: str = "", limit: str = "") -> None:
        super().__init__(message)
        self.failure = GraphFailed(message, node, edge, limit)


class TooLongError(RoutingError):
    """A superstep is more work than may be done at once."""
