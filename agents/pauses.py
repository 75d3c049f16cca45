"""What is held back now, and what can be: a queue, a workspace, or everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q

from agents.errors import HaltedError
from agents.models.pause import Pause, PauseKind

if TYPE_CHECKING:
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
    why = f" ({halted.reason})" if halted.reason else ""
    raise HaltedError(
        f"{what} was stopped by {halted.by}{why}, so no run starts: `{again}` ends that."
    )
