"""Results of the palette: places, actions, definitions and runs, by words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache

from agents.choices import RunKind
from agents.models import Agent
from heartbit_site.base.access import Access
from heartbit_site.base.untrusted import clean_text
from heartbit_site.operations.run_reads import list_runs
from heartbit_site.shell.frame import PageFrame
from heartbit_site.web.page import page
from scheduling.models import Schedule

#: Of each kind.
MOST: Final = 6


@never_cache
@page("runs:read")
def find(request: HttpRequest, access: Access) -> JsonResponse:
    """Return what has all words of ``?q=``; without words the places, actions and last runs.

    ``{"found": [{"icon", "title", "hint", "address"}]}``; the address of an action on the page
    itself is ``#theme``.
    """
    text = clean_text(request.GET.get("q", ""))[:200].strip()
    request.heartbit_access = access  # type: ignore[attr-defined]
    frame, words = PageFrame(request), text.casefold().split()
    near = [
        one
        for one in _places(frame, access)
        if all(word in f"{one['title']} {one['hint']}".casefold() for word in words)
    ]
    defined = _defined(frame, access, words) if words else ()
    return JsonResponse({"found": [*near, *defined, *_runs(access, text)]})


def _places(frame: PageFrame, access: Access) -> Iterator[dict[str, str]]:
    slug = access.workspace.slug
    if access.allows("runs:write"):
        runs, chat = reverse("web:runs", args=[slug]), reverse("web:chat", args=[slug])
        yield _found("New run", "Action", f"{runs}?new", icon="add")
        yield _found("New chat", "Action", chat, icon="add_comment")
    for _, entries in frame.groups:
        for entry in entries:
            yield _found(entry.place.title, "Place", entry.address, icon=entry.place.icon)
    yield _found("Switch between light and dark", "Action", "#theme", icon="contrast")
    yield _found("Account", "Place", reverse("web:account", args=[slug]), icon="person")


def _defined(frame: PageFrame, access: Access, words: list[str]) -> Iterator[dict[str, str]]:
    if not access.allows("agents:read"):
        return
    slug = access.workspace.slug
    for row in _named(Agent.objects.filter(workspace=access.workspace, origin=""), words):
        if row.kind != RunKind.WORKFLOW:
            address = reverse("web:agent", args=[slug, row.name])
            yield _found(row.name, "Agent", address, icon="smart_toy")
        elif frame.enters_admin:
            address = reverse("admin:agents_workflow_change", args=[row.pk])
            yield _found(row.name, "Workflow", address, icon="account_tree")
    for schedule in _named(Schedule.objects.filter(workspace=access.workspace), words):
        address = reverse("web:schedule", args=[slug, schedule.pk])
        yield _found(schedule.name, "Schedule", address, icon="event_repeat")


def _named(rows: QuerySet[Any], words: list[str]) -> QuerySet[Any]:
    for word in words:
        rows = rows.filter(name__icontains=word)
    return rows.order_by("name")[:MOST]


def _runs(access: Access, text: str) -> Iterator[dict[str, str]]:
    for run in list_runs(access, limit=MOST, text=text or None).runs:
        title = " ".join(run.task.split())[:120]
        address = reverse("web:run", args=[access.workspace.slug, run.id])
        yield _found(title, f"{run.agent}, {run.status}", address, icon="play_circle")


def _found(title: str, hint: str, address: str, *, icon: str) -> dict[str, str]:
    return {"icon": icon, "title": title, "hint": hint, "address": address}
