"""Selection and order of the runs of a list: filters, a search by words, and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from django.contrib.postgres.search import SearchQuery, SearchVectorField
from django.db.models import CharField, DecimalField, F, Func, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Cast, Coalesce, Now

from agents.choices import Placement
from agents.models import Run
from agents.models.run import WORDS
from agents.querysets import id_range, readable
from heartbit_site.base.access import Access
from heartbit_site.base.models import UsageEntry
from heartbit_site.operations.paging import number, page, place_after
from heartbit_site.operations.run_views import summaries

#: A total is exact up to here.
COUNTED: Final = 1000
#: Sorted by a figure are the newest runs that match, up to here.
SORTED: Final = 10_000
#: So many runs that say the words of a search are enough to be sorted by a figure, if they are
#: among the newest 1,000 or ``NEAR`` runs.
ENOUGH: Final = 100
#: Runs that are compared with the words of a search one by one: more are found by the index.
COMPARED: Final = 200
#: Runs whose ids are combined with the index of words, before it alone finds all.
NEAR: Final = 10_000
#: How long after its time of acceptance a run's id can be, as UUIDv7.
_LATE: Final = 3_600_000 << 80
_SPENT = UsageEntry.objects.filter(run_id=OuterRef("pk")).order_by().values("run_id")
#: What a list can be sorted by, besides the time of acceptance.
_FIGURES: Final = {
    "duration": Coalesce("finished_at", Now()) - F("created_at"),
    "tokens": F("input_tokens") + F("output_tokens"),
    "cost": Coalesce(
        Subquery(_SPENT.values(sum=Sum("cost_usd"))), Decimal(0), output_field=DecimalField()
    ),
}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Filters of a list of runs; see ``list_runs``."""

    agent: str | None = None
    status: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    children: bool = False
    mine: bool = False
    held: bool = False


def matching(access: Access, wanted: RunFilter) -> QuerySet[Run]:
    """Return the workspace's runs that match, in no order."""
    rows = Run.objects.filter(readable(access), workspace=access.workspace)
    if wanted.mine:
        rows = rows.filter(_started_by(access))
    if wanted.held:
        rows = rows.filter(home=Placement.RESTORED, finished_at__isnull=True)
    if not wanted.children:
        rows = rows.filter(parent__isnull=True)
    if wanted.agent:
        rows = rows.filter(agent=wanted.agent)
    if wanted.status:
        rows = rows.filter(status=wanted.status)
    if wanted.since is not None:
        rows = rows.filter(created_at__gte=wanted.since)
    if wanted.until is not None:
        rows = _before(rows, access, wanted.until)
    return _says(rows, wanted.text) if wanted.text and wanted.text.strip() else rows


def _before(rows: QuerySet[Run], access: Access, until: datetime) -> QuerySet[Run]:
    """Runs accepted before a moment; ids rise with it, so newer ones are skipped by their ids."""
    older = Run.objects.filter(workspace=access.workspace, created_at__lt=until)
    last = older.order_by("-created_at").values_list("pk", flat=True).first()
    if last is None:
        return rows.none()
    return rows.filter(created_at__lt=until, pk__lte=UUID(int=last.int + _LATE))


def count(rows: QuerySet[Any]) -> int:
    """Return how many there are; ``COUNTED + 1`` stands for all that are more."""
    return rows.order_by().values("pk")[: COUNTED + 1].count()


def sorted_page(
    access: Access, wanted: RunFilter, sort: str, cursor: str | None, limit: int
) -> tuple[list[Run], str | None]:
    """Return one page of the runs that match, as ``paging.page`` does.

    By time the cursor is a place. By a figure, which changes while runs work, it is a number of
    rows: a row that changes meanwhile can be on two pages or on none. Sorted by a figure are the
    newest ``SORTED`` runs that match; of words that many runs have, those among fewer runs.

    Raises:
        CursorError: It is no cursor of this list.
    """
    name, falls = sort.removeprefix("-"), sort.startswith("-")
    rows = summaries(matching(access, wanted))
    if name == "started":
        order = "-pk" if falls else "pk"
        if not wanted.text:
            return page(rows, order, cursor, limit)
        for rows in _widen(access, wanted, order, cursor):
            some, following = page(summaries(rows), order, cursor, limit, walked=False)
            if following:
                break
        return some, following
    first = number(cursor) if cursor else 0
    newest = Cast("pk", CharField()).desc() if wanted.text else F("pk").desc()
    among = _sorted_runs(access, wanted).order_by(newest).annotate(figure=_FIGURES[name])
    ranked = list(among.values_list("figure", "pk")[:SORTED])
    ranked.sort(key=itemgetter(0), reverse=falls)  # of equal ones the newest first, both ways
    keys = [pk for _, pk in ranked[first : first + limit + 1]]
    found = rows.in_bulk(keys[:limit])  # of few rows the other columns, some of which are long
    more = str(first + limit) if len(keys) > limit else None
    return [found[key] for key in keys[:limit] if key in found], more


def _sorted_runs(access: Access, wanted: RunFilter) -> QuerySet[Run]:
    """Return the runs of which a figure is compared, in no order."""
    if not wanted.text:
        return matching(access, wanted)
    for rows in _widen(access, wanted, "-pk", None, compared=1000):
        if rows.order_by().values("pk")[:ENOUGH].count() == ENOUGH:
            break
    return rows


def _widen(
    access: Access, wanted: RunFilter, order: str, cursor: str | None, compared: int = COMPARED
) -> Iterator[QuerySet[Run]]:
    """Yield the runs that say the words, of more and more runs behind a cursor, and last of all.

    A common word is found at once among a few runs, where the index of words would list millions.
    One that a hundredth of the runs have is found by the index and the ids of near runs together.
    """
    behind = place_after(matching(access, replace(wanted, text=None)), order, cursor)
    behind = behind.order_by(order)
    yield _compare(behind[:compared], wanted.text or "")
    all_that_say = matching(access, wanted)
    for last in behind.values_list("pk", flat=True)[NEAR : NEAR + 1]:
        yield all_that_say.filter(**{"pk__gte" if order.startswith("-") else "pk__lte": last})
    yield all_that_say


def _compare(few: QuerySet[Run], text: str) -> QuerySet[Run]:
    """Return those of some runs that say a text, each of which is compared with it.

    Without the positions of its words, a run's text is not what the index has, so the planner
    cannot list all runs with a common word first. A word with a hyphen is a phrase, which matches
    by positions: the index alone finds it.
    """
    compared = Func(WORDS, function="strip", output_field=SearchVectorField())
    return _says(Run.objects.filter(pk__in=few.values("pk")), text, compared)


def _started_by(access: Access) -> Q:
    """Return the runs that a person or a key started; a key has its name alone."""
    if access.user_id is None or access.key_id is not None:
        return Q(started_by=access.name, started_user__isnull=True)
    return Q(started_user=access.user_id)


def _says(rows: QuerySet[Run], text: str, words_of_run: Any = WORDS) -> QuerySet[Run]:
    """Runs that have all words of a search, or whose id begins with it."""
    words = [f"'{word}'" for word in text.replace("'", " ").replace("\\", " ").split()]
    if not words:
        return rows.none()
    query = SearchQuery(" & ".join(words) + ":*", config="simple", search_type="raw")
    said, span = Q(words=query), id_range(text)
    return rows.alias(words=words_of_run).filter(said if span is None else said | Q(pk__range=span))
