"""Everything a run's page shows, read with a handful of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.safestring import SafeString

from agents.admin import queries, words
from agents.admin.approval_card import card, decided
from agents.admin.events import Line, line
from agents.choices import LIVE, RunStatus
from agents.delivery.targets import whom
from agents.forks import forks_of
from heartbit_site.base import amounts
from heartbit_site.base.admin.themed import pretty_json
from heartbit_site.base.markdown import LONGEST, to_html
from heartbit_site.base.visible_text import visible

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from agents.admin.approval_card import Card, Refused
    from agents.models import BlackboardEntry, Decision, Delivery, Run, ToolCall


@dataclass(frozen=True, slots=True)
class Branch:
    """A run in its tree, with its place on the tree's time line (percent of its width)."""

    run: Run
    is_this: bool
    indent: int
    pill: SafeString
    lasted: str
    queued_left: str
    queued_width: str
    left: str
    width: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, ready to be shown."""

    row: ToolCall
    tool: str
    arguments: str
    effect: str
    pill: SafeString
    took: str
    decided: list[str]


@dataclass(frozen=True, slots=True)
class Sent:
    """Somebody whom the result goes to."""

    row: Delivery
    whom: str
    pill: SafeString


@dataclass(frozen=True, slots=True)
class Fork:
    """A run that began with this one's journal, and the last turn that it kept."""

    pk: UUID
    turn: int


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run's page.

    Attributes:
        problem: One sentence on why there is no final answer; empty when there is one.
        structured: The answer as JSON, when the agent has a form for it.
        answer: What it said, as sanitised HTML; empty when it is JSON.
        unseen: How many of its last characters are left out.
        payload: The task in its long form as JSON, when it was given so.
        cards: The calls that wait for a person, of this run and of those below it.
        newer: ``after`` of the journal's next page; 0 on the last one.
    """

    run: Run
    live: bool
    pill: SafeString
    problem: str
    structured: str
    answer: SafeString
    unseen: int
    payload: str
    cards: list[Card]
    facts: list[tuple[str, str]]
    branches: list[Branch]
    forks: list[Fork]
    calls: list[Call]
    deliveries: list[Sent]
    blackboard: list[tuple[BlackboardEntry, str]]
    lines: list[Line]
    after: int
    newer: int


def read(run: Run, *, after: int, refused: Refused | None = None) -> RunPage:
    """Read the page.

    Args:
        run: The run, with its version, agent, workspace and worker.
        after: The journal is shown from the event that follows this sequence number.
        refused: A decision that was sent a moment ago and could not be taken.
    """
    runs = queries.tree(run.root_id)
    calls = queries.calls(run.pk)
    events = queries.journal(run.pk, after=after)
    decisions = queries.decisions(run.pk) if calls else {}
    names = {call.call_id: f"{call.tool} ({call.call_id})" for call in calls}
    last = events[-1].seq if events else after
    return RunPage(
        run=run,
        live=run.status in LIVE,
        pill=words.run_pill(run.status),
        problem=str(run.error["message"]) if run.error else "",
        structured="" if run.structured is None else pretty_json(run.structured),
        answer=_answer(run),
        unseen=max(0, len(run.output or "") - LONGEST),
        payload="" if run.payload is None else pretty_json(run.payload),
        cards=_cards(run, runs, refused),
        facts=_facts(run, runs),
        branches=_branches(run, runs) if len(runs) > 1 else [],
        forks=[Fork(pk, turn) for pk, turn in forks_of(run.pk)],
        calls=[_call(call, decisions.get(call.call_id, [])) for call in calls],
        deliveries=[_sent(row) for row in queries.deliveries(run.pk)],
        blackboard=[
            (entry, entry.value if isinstance(entry.value, str) else pretty_json(entry.value))
            for entry in queries.blackboard(run.root_id)
        ],
        lines=[
            line(event, began=run.created_at, name_of=lambda call_id: names.get(call_id, ""))
            for event in events
        ],
        after=after,
        newer=last if last < run.last_seq else 0,
    )


def _answer(run: Run) -> SafeString:
    return SafeString(to_html(run.output or "") if run.structured is None else "")


def _cards(run: Run, runs: list[Run], refused: Refused | None) -> list[Card]:
    if run.status not in (RunStatus.WAITING, RunStatus.RUNNING):
        return []
    waiting = queries.waiting_calls().filter(run__in=_below(run, runs))
    return [card(call, here=run.pk, refused=refused) for call in waiting]


def _sent(row: Delivery) -> Sent:
    return Sent(row, whom(row.target), words.delivery_pill(row.status))


def _call(call: ToolCall, decisions: list[Decision]) -> Call:
    return Call(
        row=call,
        tool=visible(call.tool),
        arguments=visible(call.arguments),
        effect=call.effect.replace("_", " "),
        pill=words.call_pill(call.status),
        took=_took(call),
        decided=[decided(decision) for decision in decisions],
    )


def _facts(run: Run, runs: list[Run]) -> list[tuple[str, str]]:
    spent = queries.spent_by(_below(run, runs))
    facts = [
        ("Agent", f"{run.agent}, version {run.version.number}"),
        ("Model", words.model_of(run)),
        ("Duration", words.lasted(run)),
        ("Tokens", words.tokens(run.input_tokens, run.output_tokens)),
    ]
    if run.parent_id is None and len(runs) > 1:
        facts.append(("Tokens, whole tree", words.tokens(spent.input_tokens, spent.output_tokens)))
    facts += [
        ("Cost", words.cost(spent)),
        ("Accepted", words.moment(run.created_at)),
        ("Started", _later(run, run.started_at)),
        ("Finished", _later(run, run.finished_at)),
        ("Executed by", f"{run.get_home_display()}, queue {run.queue}"),
    ]
    if run.started_by:
        facts.append(("Started by", run.started_by))
    if run.worker is not None:
        facts.append(("Worker", run.worker.name))
    if run.approve:
        facts.append(("Approval", "every tool call waits for a person"))
    if run.attempts:
        facts.append(("Workers that died", str(run.attempts)))
    return [*facts, ("Workspace", run.workspace.name), ("Run", str(run.pk))]


def _later(run: Run, moment: datetime | None) -> str:
    return f"{amounts.duration(moment - run.created_at)} later" if moment else "not yet"


def _below(run: Run, runs: list[Run]) -> set[UUID]:
    """The run and all that it started; runs come oldest first, so parents before children."""
    found = {run.pk}
    for other in runs:
        if other.parent_id in found:
            found.add(other.pk)
    return found


def _took(call: ToolCall) -> str:
    if call.started_at is None or call.finished_at is None:
        return ""
    return amounts.duration(call.finished_at - call.started_at)


def _branches(this: Run, runs: list[Run]) -> list[Branch]:
    now = timezone.now()
    begin = min(run.created_at for run in runs)
    end = max(run.finished_at or now for run in runs)
    whole = max((end - begin).total_seconds(), 0.001)
    depths: dict[UUID, int] = {}

    def percent(start: datetime, stop: datetime) -> str:
        return f"{100 * max(0.0, (stop - start).total_seconds()) / whole:.2f}"

    branches = []
    for run in runs:
        depths[run.pk] = depths[run.parent_id] + 1 if run.parent_id in depths else 0
        started = run.started_at or run.finished_at or now
        branches.append(
            Branch(
                run=run,
                is_this=run.pk == this.pk,
                indent=depths[run.pk],
                pill=words.run_pill(run.status),
                lasted=words.lasted(run),
                queued_left=percent(begin, run.created_at),
                queued_width=percent(run.created_at, started),
                left=percent(begin, started),
                width=percent(started, run.finished_at or now),
            )
        )
    return branches
