"""The list of runs, drawn from the query of its address, and what is done with chosen runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from agents.choices import TERMINAL, RunStatus
from agents.models import Agent
from heartbit_site.base import amounts
from heartbit_site.base.access import Access
from heartbit_site.base.actions.saved_views import delete_view, save_view, views_for
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.rights import people_with
from heartbit_site.contract.runs import RunPageOut, RunSummaryOut
from heartbit_site.operations.paging import CursorError
from heartbit_site.operations.run_reads import list_runs
from heartbit_site.operations.run_search import COUNTED, RunFilter, count, matching
from heartbit_site.operations.runs import cancel_run, retry_run
from heartbit_site.shell.sentences import first_sentence, with_code
from heartbit_site.web.page import asked_action, page, show

PAGE: Final = 30  # rows
MOST_CHOSEN: Final = 300
COLUMNS: Final = {"tokens": "Tokens", "cost": "Cost", "duration": "Duration", "started": "Started"}


class Filters(forms.Form):
    """The filters of the list, which are the query of its address."""

    text = forms.CharField(required=False, max_length=200)
    status = forms.ChoiceField(required=False, choices=[("", "Any"), *RunStatus.choices])
    agent = forms.ChoiceField(required=False)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    mine = forms.BooleanField(required=False)
    children = forms.BooleanField(required=False)
    sort = forms.ChoiceField(
        required=False, choices=[(f"{sign}{name}",) * 2 for name in COLUMNS for sign in ("", "-")]
    )

    def __init__(self, query: QueryDict, agents: list[str]) -> None:
        super().__init__(query)
        # A deleted agent still has runs.
        names = sorted({*agents, *filter(None, [query.get("agent", "")])})
        self.fields["agent"].choices = [("", "Any"), *((name, name) for name in names)]  # type: ignore[attr-defined]
        self.is_valid()

    @property
    def is_set(self) -> bool:
        """True if a filter narrows the list."""
        names = ("text", "status", "agent", "since", "until", "mine")
        return any(self.cleaned_data.get(name) for name in names)

    @property
    def order(self) -> Any:
        """The order, as the API names it."""
        return self.cleaned_data.get("sort") or "-started"

    def wanted(self) -> RunFilter:
        """Return what the list is narrowed by; a field with an error narrows nothing."""
        given = self.cleaned_data
        until = given.get("until")
        return RunFilter(
            given.get("agent") or None,
            given.get("status") or None,
            given.get("text") or None,
            _midnight(given.get("since")),
            _midnight(until + timedelta(days=1)) if until and until < date.max else None,
            children=bool(given.get("children")),
            mine=bool(given.get("mine")),
        )


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as the list shows it."""

    run: RunSummaryOut
    by: str
    task: str
    error: SafeString | str
    tokens: str
    cost: str
    duration: str
    is_live: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A heading that sorts; ``order`` is that of ``aria-sort``, empty for another column."""

    name: str
    title: str
    address: str
    order: str


@require_http_methods(["GET", "POST"])
@page("runs:read")
def runs(request: HttpRequest, access: Access) -> HttpResponse:
    """List the runs of the workspace."""
    if request.method == "POST":
        for tone, said in _done(request, access):
            messages.add_message(request, tone, said)
        return redirect(request.get_full_path())
    form = Filters(request.GET, _agents(access))
    try:
        context = _list(request, access, form)
    except CursorError:
        return redirect(_address(request, cursor=None))
    query = _query(request, cursor=None)
    views = [
        (view, view.query == query, view.user_id == access.user_id) for view in views_for(access)
    ]
    more = {
        "form": form,
        "views": views,
        "query": query,
        "manages": access.allows("workspace:manage"),
        "writes": access.allows("runs:write"),
    }
    return show(request, access, "web/runs.html", context | more, here="runs")


def _list(request: HttpRequest, access: Access, form: Filters) -> dict[str, Any]:
    wanted, cursor = form.wanted(), request.GET.get("cursor")
    given = {name: getattr(wanted, name) for name in RunFilter.__slots__}
    found = list_runs(access, limit=PAGE, cursor=cursor, sort=form.order, **given)
    is_timed, is_first = form.order == "-started", not cursor
    newer = 0
    if is_timed and cursor:
        newer = count(matching(access, wanted).filter(pk__gte=cursor))
    writer = (
        ""
        if access.allows("runs:write") or found.runs
        else people_with(access.workspace, ["runs:write"])["runs:write"]
    )
    return {
        "rows": [_row(run, access) for run in found.runs],
        "columns": list(_columns(request, form.order)),
        "total": _total(access, wanted, found, is_first=is_first),
        "first": "" if is_first else _address(request, cursor=None),
        "newer": _counted(newer, "newer run") if newer else "",
        "next": _address(request, cursor=found.next_cursor) if found.next_cursor else "",
        # What a reader comes back to: the same rows, whatever has begun meanwhile.
        "here": _address(request, cursor=_place_of(found.runs[0]))
        if is_timed and is_first and found.runs
        else "",
        "clear": request.path,
        "who_can": writer,
    }  # fmt: skip


def _row(run: RunSummaryOut, access: Access) -> ListedRun:
    used, ended = run.usage, run.finished_at or timezone.now()
    error = (run.error or {}).get("message") if run.status in ("failed", "quarantined") else ""
    return ListedRun(
        run,
        "You" if run.started_by == access.name else run.started_by,
        run.task.strip()[:300],
        with_code(first_sentence(str(error))) if error else "",
        f"{used.input_tokens + used.output_tokens:,}",
        "unknown" if run.cost_usd is None else amounts.money(Decimal(run.cost_usd)),
        amounts.duration(ended - run.created_at),
        run.status not in TERMINAL,
    )


def _columns(request: HttpRequest, sort: str) -> Iterator[Column]:
    for name, title in COLUMNS.items():
        falls, rises = sort == f"-{name}", sort == name
        address = _address(request, cursor=None, sort=name if falls else f"-{name}")
        yield Column(name, title, address, "descending" * falls or "ascending" * rises)


def _done(request: HttpRequest, access: Access) -> Iterator[tuple[int, str]]:
    """Do what was asked for; yield what became of it."""
    asked = asked_action(request, "save", "delete", "cancel", "retry")
    try:
        if asked == "save":
            name, query = request.POST.get("name", ""), _query(request, cursor=None)
            view = save_view(access, name, query, is_shared="shared" in request.POST)
            yield messages.SUCCESS, f"{view.name} is saved."
        elif asked == "delete":
            yield messages.SUCCESS, f"{delete_view(access, request.POST.get('id', ''))} is deleted."
        else:
            yield from _each(access, asked, request.POST.getlist("run")[:MOST_CHOSEN])
    except HeartbitError as error:
        yield messages.ERROR, str(error)


def _each(access: Access, asked: str, ids: list[str]) -> Iterator[tuple[int, str]]:
    verb = cancel_run if asked == "cancel" else retry_run
    did = "asked to stop" if asked == "cancel" else "started again"
    done = 0
    for one in ids:
        try:
            verb(access, one)
            done += 1
        except HeartbitError as error:
            yield messages.ERROR, f"{one[:13]}: {error}"
    if done:
        yield (
            messages.SUCCESS,
            f"{amounts.counted(done, 'run')} {'was' if done == 1 else 'were'} {did}.",
        )


def _agents(access: Access) -> list[str]:
    rows = Agent.objects.filter(workspace=access.workspace, origin="")
    return list(rows.order_by("name").values_list("name", flat=True))


def _midnight(day: date | None) -> datetime | None:
    """Return the beginning of a day in the reader's zone."""
    if day is None:
        return None
    begins = datetime.combine(day, time(), timezone.get_current_timezone())
    return begins.astimezone(UTC) if date.min < day < date.max else None


def _place_of(run: RunSummaryOut) -> str:
    """Return the cursor of a page that begins with a run."""
    return str(UUID(int=UUID(run.id).int + 1))


def _total(access: Access, wanted: RunFilter, found: RunPageOut, *, is_first: bool) -> str:
    """Return how many runs match; runs that say a word are not counted, as millions may."""
    if not wanted.text:
        return _counted(count(matching(access, wanted)), "run")
    is_whole = is_first and not found.next_cursor
    return amounts.counted(len(found.runs), "run") if is_whole else f"more than {PAGE} runs"


def _counted(number: int, noun: str) -> str:
    return f"{COUNTED:,}+ {noun}s" if number > COUNTED else amounts.counted(number, noun)


def _query(request: HttpRequest, **changed: str | None) -> str:
    """Return the query of the address with changed parameters; None leaves one out."""
    query = request.GET.copy()
    for name, value in changed.items():
        query.pop(name, None)
        if value is not None:
            query[name] = value
    return query.urlencode()


def _address(request: HttpRequest, **changed: str | None) -> str:
    query = _query(request, **changed)
    return f"{request.path}?{query}" if query else request.path
