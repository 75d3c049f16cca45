"""What is held back now, and what can be: a queue, a workspace, or everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q

from agents.choices import RunStatus
from agents.errors import HaltedError
from agents.models.pause import Pause, PauseKind
from agents.quotas import why_waiting

if TYPE_CHECKING:
    from agents.models import Run
    from heartbit_site.base.models import Workspace


@dataclass(frozen=True, slots=True)
class Held:
    """Something that can be held back.

    Attributes:
        queue: For a queue, its name.
        workspace: For a workspace, which.
    """

    kind: PauseKind
    queue: str = ""
    workspace: Workspace | None = None

    @property
    def target(self) -> str:
        """As the audit names it."""
        place = self.workspace.pk if self.workspace is not None else self.queue
        return f"{self.kind.value}:{place}".removesuffix(":")

    @property
    def label(self) -> str:
        """As people name it."""
        return self.workspace.name if self.workspace is not None else self.queue or "everything"

    @property
    def action(self) -> str:
        """The noun of the audit's verbs."""
        return "everything" if self.kind == PauseKind.ALL else self.kind.value


EVERYTHING = Held(PauseKind.ALL)
STOPPED = "The agent {} is stopped: the run goes on when an editor starts it in the admin."


def queue(name: str) -> Held:
    """Runs of a queue: none of them is claimed, what is at work goes on."""
    return Held(PauseKind.QUEUE, queue=name)


def of_workspace(workspace: Workspace) -> Held:
    """All that happens in a workspace."""
    return Held(PauseKind.WORKSPACE, workspace=workspace)


def refuse_if_halted(workspace: Workspace) -> None:
    """Let nobody start a run where everything is stopped.

    Raises:
        HaltedError: The workspace is stopped, or everything is.
    """
    halted = Pause.objects.filter(Q(kind=PauseKind.ALL) | Q(workspace=workspace)).first()
    if halted is None:
        return
    everything = halted.kind == PauseKind.ALL
    what = "Everything" if everything else f"The workspace {workspace.slug}"
    again = "heartbit fleet continue" + ("" if everything else f" {workspace.slug}")
    raise HaltedError(
        f"{what} was stopped by {_who(halted)}, so no run starts: an operator ends that on the "
        f"page Fleet, or by `{again}`."
    )


def why_held(run: Run) -> str:
    """What is in the way of a queued run, as one sentence; empty: nothing is."""
    if run.status != RunStatus.QUEUED:
        return ""
    above = Q(kind=PauseKind.ALL) | Q(workspace=run.workspace_id)
    held = Pause.objects.filter(above | Q(kind=PauseKind.QUEUE, queue=run.queue)).first()
    if held is None:
        return why_waiting(run) if run.version.agent.enabled else STOPPED.format(run.agent)
    what = {
        PauseKind.ALL: "Everything was stopped",
        PauseKind.WORKSPACE: "The workspace was stopped",
        PauseKind.QUEUE: f"The queue {held.queue} was paused",
    }[PauseKind(held.kind)]
    return f"{what} by {_who(held)}: the run goes on when an operator ends that on the page Fleet."


def _who(pause: Pause) -> str:
    """Who did it, and why if they said so."""
    return f"{pause.by} ({pause.reason})" if pause.reason else pause.by
