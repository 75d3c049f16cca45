"""Calls that wait for a person, without a worker that would go on with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models import ToolCall, Wait
from tests.admin import rows
from tests.starts import serve_nobody

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


def unserved(workspace: Workspace, **asked: Any) -> ToolCall:
    """A waiting call of a run on a queue that no worker serves: nobody takes it on meanwhile.

    Args:
        workspace: Of the run.
        asked: ``tool`` and ``arguments``, if they matter.
    """
    serve_nobody(workspace, "researcher")
    made = rows.asking(workspace, **asked)
    return ToolCall.objects.select_related("run__workspace", "run__version__agent").get(pk=made.pk)


def unreviewed(workspace: Workspace, text: str, **review: Any) -> Wait:
    """A result that waits for a review, in a run on such a queue."""
    serve_nobody(workspace, "researcher")
    return rows.reviewing(workspace, text, **review)
