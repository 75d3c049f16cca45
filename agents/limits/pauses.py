"""Pauses, halts and quotas: why runs may not start.

The database counts and refuses in ``heartbit_submit`` (``sql/quotas.sql``); this module explains
the refusal in one sentence for every surface, with the seconds until the next run may start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet

from agents.choices import Placement, RunStatus
from agents.errors import HaltedError, QuotaExceededError, TooManyRunsError, UnknownToolError
from agents.loop import delegation
from agents.models import Agent, Run
from agents.models.pause import Pause, PauseKind
from agents.models.worker import WorkerHeartbeat
from heartbit_site.base.amounts import duration
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_named, fetch_one
from heartbit_site.base.queues import without_worker
from tools.definitions.catalogue import catalogue
from tools.models import CatalogueTool
from tools.texts.near_names import closest

# What is used up of both periods, and how long they last; by the database's clock.
_NOW = """
    SELECT t.name AS tier, t.runs_per_day AS a_day, coalesce(d.runs, 0) AS today,
           extract(epoch FROM x.day + interval '1 day' - x.now)::float AS day_seconds,
           coalesce(m.runs, 0) AS this_minute,
           extract(epoch FROM x.minute + interval '1 minute' - x.now)::float AS minute_seconds
    FROM (SELECT n.now, date_trunc('day', n.now, 'UTC') AS day,
                 date_trunc('minute', n.now, 'UTC') AS minute
          FROM (SELECT clock_timestamp() AS now) n) x
    JOIN base_workspace w ON w.id = %(workspace)s
    LEFT JOIN base_tier t ON t.id = w.tier_id
    LEFT JOIN agents_runcount d
        ON d.workspace_id = w.id AND d.agent_id IS NULL AND d.starts_at >= x.day
    LEFT JOIN agents_runcount m
        ON m.workspace_id = w.id AND m.agent_id = %(agent)s AND m.starts_at >= x.minute
"""
_FULL = """
    SELECT t.name, t.runs_at_once FROM base_workspace w JOIN base_tier t ON t.id = w.tier_id
    WHERE w.id = %s AND heartbit_room(w.id) <= 0
"""


def raise_if_exceeded(agent: Agent) -> None:
    """Raise if a quota is why the database did not accept a run of an agent.

    Raises:
        QuotaExceededError: The workspace has used its tier's runs per day.
        TooManyRunsError: The agent has used its runs per minute.
    """
    now = fetch_named(_NOW, {"workspace": agent.workspace_id, "agent": agent.pk})[0]
    if now["a_day"] is not None and now["today"] >= now["a_day"]:
        seconds = math.ceil(now["day_seconds"])
        raise QuotaExceededError(
            f"The workspace {agent.workspace.slug} has started its {_runs(now['a_day'])} of today "
            f"(tier {now['tier']}): more can be started in {duration(timedelta(seconds=seconds))}, "
            "at midnight UTC, or once an operator gives it another tier.",
            seconds,
        )
    a_minute = agent.max_runs_per_minute
    if a_minute is not None and now["this_minute"] >= a_minute:
        seconds = math.ceil(now["minute_seconds"])
        raise TooManyRunsError(
            f"The agent {agent.name} takes {_runs(a_minute)} a minute and has been given as many: "
            f"start it again in {seconds} s, or raise its limit.",
            seconds,
        )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def quota_blocked_reason(run: Run) -> str:
    """Return the quota that keeps a queued run from starting, as one sentence, or ""."""
    if run.home != Placement.FLEET:
        return ""
    full = fetch_one(_FULL, [run.workspace_id])
    if full is None:
        return ""
    tier, at_once = full
    return (
        f"The workspace is limited to {_runs(at_once)} at once (tier {tier}): this one starts when "
        "another one ends or waits."
    )


@dataclass(frozen=True, slots=True)
class PauseTarget:
    """A queue, workspace or tool, or everything, as the target of a pause.

    Attributes:
        workspace: Workspace that is stopped or in which a tool is stopped; None: all.
    """

    kind: PauseKind
    queue: str = ""
    workspace: Workspace | None = None
    tool: str = ""

    @property
    def target(self) -> str:
        """Name of the target in the audit."""
        if self.tool:
            return f"{self.kind.value}:{self.tool}"
        place = self.workspace.pk if self.workspace is not None else self.queue
        return f"{self.kind.value}:{place}".removesuffix(":")

    @property
    def label(self) -> str:
        """Name of the target for people."""
        if self.tool:
            return self.tool
        return self.workspace.name if self.workspace is not None else self.queue or "everything"

    @property
    def action(self) -> str:
        """Noun in the audit's action names."""
        return "everything" if self.kind == PauseKind.ALL else self.kind.value


EVERYTHING = PauseTarget(PauseKind.ALL)
RESTORED = (
    "It was in flight in the backup from which everything was restored, and may have continued "
    "since: look what it has done, then release it with `heartbit runs release {}`, or cancel it."
)
STOPPED = "The agent {} is stopped: the run continues when an editor starts it in the admin."


def queue(name: str) -> PauseTarget:
    """Return the target for the runs of a queue: they are not claimed.

    Running ones continue until they wait, or their slice ends.
    """
    return PauseTarget(PauseKind.QUEUE, queue=name)


def of_workspace(workspace: Workspace) -> PauseTarget:
    """Return the target for everything in a workspace."""
    return PauseTarget(PauseKind.WORKSPACE, workspace=workspace)


def of_tool(name: str, workspace: Workspace | None = None) -> PauseTarget:
    """Return the target for calls of a tool, in one workspace or in all.

    Raises:
        UnknownToolError: No such tool exists, or, without a workspace, only in single ones; and no
            pause of one is left to end.
    """
    known = catalogue(workspace.pk if workspace is not None else None)
    if name != delegation.NAME and name not in known:
        stopped = Pause.objects.filter(kind=PauseKind.TOOL, tool=name, workspace=workspace)
        if not stopped.exists():
            if workspace is None and CatalogueTool.objects.filter(name=name).exists():
                raise UnknownToolError(
                    f"The tool {name[:64]!r} belongs to single workspaces: name the workspace."
                )
            near = closest(name, (*known, delegation.NAME))
            hint = f": did you mean {near[0]}?" if near else "."
            remedy = None if near else Remedy("tools.list_tools")
            raise UnknownToolError(f"There is no tool named {name[:64]!r}{hint}", remedy=remedy)
    return PauseTarget(PauseKind.TOOL, workspace=workspace, tool=name)


def stopped_tools(workspace: Workspace) -> dict[str, str]:
    """Return who stopped each tool, there or everywhere, with their reason, by tool name."""
    there = Q(workspace=None) | Q(workspace=workspace)
    rows = Pause.objects.filter(there, kind=PauseKind.TOOL).order_by("by_operator", "at")
    return {row.tool: _who(row) for row in rows}


def find_pauses(held: PauseTarget) -> QuerySet[Pause]:
    """Return the target's pauses: an operator's, the workspace's own, both or none."""
    # Their kind follows from the rest (the constraint ``pause_names_what_it_is_of``).
    return Pause.objects.filter(queue=held.queue, workspace=held.workspace, tool=held.tool)


def of_operator(held: PauseTarget, pause: Pause) -> str:
    """Explain that only an operator can end an operator's stop, and how."""
    slug = held.workspace.slug if held.workspace is not None else ""
    what, ends = f"The workspace {slug} was stopped", f"resume {slug}"
    if held.tool:
        what = f"The tool {held.tool} was stopped in {slug}"
        ends = f"enable-tool {held.tool} --workspace {slug}"
    return (
        f"{what} by an operator, {_who(pause)}: only an operator can end that, on the page Health "
        f"or by `heartbit fleet {ends}`."
    )


def refuse_if_halted(workspace: Workspace) -> None:
    """Raise if no run may start in a workspace.

    Raises:
        HaltedError: The workspace is stopped, or everything is.
    """
    halted = _first(_halts(workspace.pk))
    if halted is None:
        return
    everything = halted.kind == PauseKind.ALL
    what = "Everything" if everything else f"The workspace {workspace.slug}"
    again = "heartbit fleet resume" + ("" if everything else f" {workspace.slug}")
    ends, remedy = "an operator ends that", None
    if not halted.by_operator:
        ends = "a manager ends that, or an operator"
        remedy = Remedy("pauses.resume_workspace", "resumes it for a manager")
    raise HaltedError(
        f"{what} was stopped by {_who(halted)}, so no run starts; {ends} on the page Health, or by "
        f"`{again}`.",
        remedy=remedy,
    )


def blocked_reason(run: Run) -> str:
    """Return why a run cannot be claimed, as one sentence, or an empty string."""
    if run.home == Placement.RESTORED and run.finished_at is None:
        return RESTORED.format(run.pk)
    if run.status != RunStatus.QUEUED:
        return ""
    of_queue = Q(kind=PauseKind.QUEUE, queue=run.queue)
    held = _first(_halts(run.workspace_id) | of_queue)
    if held is None and not run.version.agent.enabled:
        return STOPPED.format(run.agent)
    if held is None:
        return quota_blocked_reason(run) or _without_worker(run)
    what = {
        PauseKind.ALL: "Everything was stopped",
        PauseKind.WORKSPACE: "The workspace was stopped",
        PauseKind.QUEUE: f"The queue {held.queue} was paused",
    }[PauseKind(held.kind)]
    ends = "an operator ends that on the page Health"
    if not held.by_operator:
        ends = "a manager of the workspace ends that, or an operator on the page Health"
    return f"{what} by {_who(held)}: the run continues when {ends}."


def _without_worker(run: Run) -> str:
    if run.home != Placement.FLEET or WorkerHeartbeat.objects.serving(run.queue).exists():
        return ""
    return without_worker(run.queue)


def _first(which: Q) -> Pause | None:
    """Return the pause to report: an operator's before a workspace's, then the earliest."""
    return Pause.objects.filter(which).order_by("-by_operator", "at").first()


def _halts(workspace_id: int) -> Q:
    return Q(kind=PauseKind.ALL) | Q(kind=PauseKind.WORKSPACE, workspace=workspace_id)


def _who(pause: Pause) -> str:
    return f"{pause.by} ({pause.reason})" if pause.reason else pause.by
