"""The facts of a run: names and values of the inspector's list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Q, Sum
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agents.choices import Placement, RunKind
from agents.journal.events import ModelAnswered, RunStarted
from agents.models import Run, RunEvent, ToolCall
from agents.models.workflow import KIND as WORKFLOW
from agents.reads.asking import asks_of
from heartbit_site.base.access import Access
from heartbit_site.base.amounts import duration, money
from heartbit_site.base.audit import UNWATCHED
from heartbit_site.base.models import UsageEntry
from heartbit_site.contract.runs import RunTreeOut, RunViewOut

_COMMITTED = "graph.committed"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact; ``value`` is empty while it is not known.

    Attributes:
        at: A point in time, shown instead of the value.
    """

    name: str
    value: str | SafeString = ""
    at: datetime | None = None


def facts_of(access: Access, run: Run, view: RunViewOut) -> list[Fact]:
    """Return what is known of a run, in the order of reading, without what has no value."""
    found = [*_work(run, view), *_life(access, run, view), *_links(access, view)]
    return [fact for fact in found if fact.value or fact.at]


def _work(run: Run, view: RunViewOut) -> Iterator[Fact]:
    is_workflow = run.kind == WORKFLOW
    yield Fact("Agent", f"{view.agent}, version {view.version}")
    if not is_workflow:
        chosen = view.model or "chosen at the first start"
        yield Fact("Model", chosen if run.kind in (RunKind.AGENT, RunKind.EXTRACTION) else "none")
    yield Fact("Duration", duration(view.finished_at - view.created_at) if view.finished_at else "")
    spent = _spent([view])
    yield Fact("Tokens", tokens(view.usage.input_tokens, view.usage.output_tokens))
    yield Fact("Cached of these", f"{spent['cached']:,}" if spent["cached"] else "")
    yield Fact("Cost", _cost(spent["usd"], spent["unpriced"]))
    tree = [*below(view)]
    if len(tree) > 1:
        whole = _spent(tree)
        used = [one.usage for one in tree]
        together = (sum(one.input_tokens for one in used), sum(one.output_tokens for one in used))
        yield Fact("Tokens with sub-agents", tokens(*together))
        yield Fact("Cost with sub-agents", _cost(whole["usd"], whole["unpriced"]))
    done = RunEvent.objects.filter(run=run, type=_COMMITTED if is_workflow else ModelAnswered.type)
    yield Fact("Supersteps" if is_workflow else "Turns", f"{done.count():,}")
    yield Fact("Tool calls", f"{ToolCall.objects.filter(run=run).count():,}")


def _life(access: Access, run: Run, view: RunViewOut) -> Iterator[Fact]:
    yield Fact("Accepted", at=view.created_at)
    for name, at in (("Started", view.started_at), ("Finished", view.finished_at)):
        yield Fact(name, f"{duration(at - view.created_at)} later" if at else "")
    yield Fact("Started by", "You" if view.started_by == access.name else view.started_by)
    yield Fact("Executed by", "" if view.placement == Placement.RESTORED else view.placement)
    started = RunEvent.objects.filter(run=run, type=RunStarted.type).order_by("-seq")
    by = started.values_list("payload", flat=True).first() or {}
    where = f", code in {by['sandbox']}" if by.get("sandbox") else ""
    yield Fact("Worker", f"{by['worker']}{where}" if by.get("worker") else "")
    yield Fact("Worker crashes", str(view.attempts) if view.attempts else "")
    yield Fact("Queue", f"{view.queue}{f', priority {view.priority}' if view.priority else ''}")
    yield Fact("Approval", "every tool call waits for a person" if view.require_approval else "")
    if (
        view.started_by.startswith(UNWATCHED)
        and run.finished_at is None
        and not view.require_approval
    ):
        yield Fact("Waits for a person", " ".join(asks_of(run.version.agent)))


def _links(access: Access, view: RunViewOut) -> Iterator[Fact]:
    slug = access.workspace.slug
    if view.conversation_id:
        place = reverse("web:conversation", args=[slug, view.agent, view.conversation_id])
        yield Fact("Conversation", _link(place, view.conversation_id[:13]))
    if view.forked_from_id:
        compare = reverse("web:run-compare", args=[slug, view.forked_from_id, view.id])
        yield Fact("Begun with", _run_link(slug, view.forked_from_id))
        yield Fact("Side by side", _link(compare, "compare the two"))
    forks = (
        (_run_link(slug, fork.id), f"after turn {fork.turn}" if fork.turn else "from the beginning")
        for fork in view.forks
    )
    yield Fact("Forks", format_html_join(", ", "{} {}", forks))
    yield Fact("Run", format_html("<code>{}</code>", view.id))


def below(view: RunTreeOut) -> Iterator[RunTreeOut]:
    """Return a run and all runs below it."""
    yield view
    for child in view.children:
        yield from below(child)


def _spent(runs: Iterable[RunTreeOut]) -> dict[str, int | Decimal]:
    found = UsageEntry.objects.filter(run_id__in=[run.id for run in runs]).aggregate(
        cached=Sum("cached_input_tokens", default=0),
        usd=Sum("cost_usd", default=Decimal(0)),
        unpriced=Count("pk", filter=Q(cost_usd__isnull=True)),
    )
    return dict(found)


def _cost(usd: int | Decimal, unpriced: int | Decimal) -> str:
    if not unpriced:
        return money(Decimal(usd))
    return f"{money(Decimal(usd))} and calls without a price" if usd else "unknown"


def tokens(read: int, written: int) -> str:
    """Return tokens in words: ``1,234 in, 56 out``."""
    return f"{read:,} in, {written:,} out"


def _run_link(slug: str, run_id: str) -> SafeString:
    return _link(reverse("web:run", args=[slug, run_id]), run_id[:13])


def _link(address: str, text: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', address, text)
