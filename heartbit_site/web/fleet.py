"""The fleet's tab of Health: workers, queues, pauses and stops, for operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.reads.fleet import read_fleet
from agents.reads.views import FleetOut, PauseOut, WorkerOut
from heartbit_site.base import amounts
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.contract.fleet import PauseIn
from heartbit_site.operations import fleet as verbs
from heartbit_site.web.health import SPAN_TITLES, chosen_span, drawn_lifelines, tabs
from heartbit_site.web.page import asked_action, page, show
from tools.definitions.catalogue import catalogue

TONES: Final = {"alive": "success", "leaving": "warning", "stale": "danger"}
#: Problems that the page has a button for end with a command of these.
_HAS_BUTTON: Final = ("resume`", "resume ", "resume-queue ", "enable-tool ")
SHOWN = 3  # runs of a worker
EVERYTHING: Final = "stop"  # what has to be typed to stop everything


@dataclass(frozen=True, slots=True)
class ShownStop:
    """Something that is stopped, in words, and the verb that ends it."""

    pause: PauseOut
    what: str
    verb: str
    end: str


@never_cache
@require_http_methods(["GET", "POST"])
@page("fleet:manage")
def fleet(request: HttpRequest, access: Access) -> HttpResponse:
    """Show workers and queues, and perform what the operator asks for."""
    if request.method == "POST":
        try:
            messages.success(request, _do(request, access))
        except HeartbitError as error:
            messages.error(request, str(error))
        return redirect(request.get_full_path())
    found, span = read_fleet(), chosen_span(request)
    slug = access.workspace.slug
    context = {
        "tabs": tabs(access),
        "tab": "fleet",
        "span": span,
        "spans": SPAN_TITLES.items(),
        "totals": found.totals,
        "workers": [_worker(one) for one in found.workers],
        "queues": [
            (queue, amounts.duration(queue.oldest_seconds) if queue.depth else "-")
            for queue in found.queues
        ],
        "held": _held(found),
        "stops": [_stop(one) for one in found.pauses if one.kind != "queue"],
        "problems": [*_problems(found)],
        "stops_all": any(one.kind == "all" for one in found.pauses),
        "stops_here": any(
            one.kind == "workspace" and one.name == slug and one.by_operator for one in found.pauses
        ),
        "tools": sorted(catalogue(access.workspace.pk)),
        "word": EVERYTHING,
        **drawn_lifelines(span),
    }
    return show(request, access, "web/health_fleet.html", context, here="health")


def _worker(row: WorkerOut) -> dict[str, Any]:
    host, _, process = row.name.rpartition(":")
    leaves = bool(row.requested_action) and row.state != "stale"
    return {
        "row": row,
        "host": host,
        "process": process,
        "tone": TONES[row.state],
        "state": f"leaving: {row.requested_action}" if leaves else row.state,
        "stays": row.state != "stale" and not row.requested_action,
        "silent": amounts.duration(row.heartbeat_age_seconds),
        "up": amounts.duration(timedelta(seconds=row.uptime_seconds)),
        "queues": ", ".join(row.queues) or "one suspicious run, alone",
        "runs": row.runs[:SHOWN],
        "more": max(0, row.slots_used - SHOWN),
    }


def _held(fleet: FleetOut) -> Iterator[tuple[str, str, PauseOut | None]]:
    """Yield the paused queues with blocked runs: name, how many, and the pause."""
    pauses = {one.name: one for one in fleet.pauses if one.kind == "queue"}
    for queue in fleet.queues:
        if queue.paused and queue.blocked:
            is_one = queue.blocked == 1
            blocked = "1 run is" if is_one else f"{queue.blocked} runs are"
            yield queue.name, blocked, pauses.get(queue.name)


def _stop(pause: PauseOut) -> ShownStop:
    if pause.kind == "all":
        return ShownStop(pause, "Everything", "resume-all", "Resume everything")
    if pause.kind == "workspace":
        return ShownStop(pause, f"The workspace {pause.name}", "resume-workspace", "Resume it")
    where = f" in {pause.workspace}" if pause.workspace else ""
    return ShownStop(pause, f"The tool {pause.name}{where}", "enable-tool", "Start it again")


def _problems(fleet: FleetOut) -> Iterator[SafeString]:
    """Yield the problems that no button of the page ends; what is in backquotes is code."""
    for sentence in fleet.problems:
        if any(f"`heartbit fleet {command}" in sentence for command in _HAS_BUTTON):
            continue
        parts = sentence.split("`")
        yield format_html_join(
            "",
            "{}",
            (
                (format_html("<code>{}</code>", text) if n % 2 else text,)
                for n, text in enumerate(parts)
            ),
        )


#: What came of each verb.
_DONE: Final = {
    "stop": "The worker was asked to stop.",
    "restart": "The worker was asked to restart.",
    "pause-queue": "The queue {name} is paused.",
    "resume-queue": "The queue {name} is resumed.",
    "halt-workspace": "The workspace is stopped.",
    "resume-workspace": "The workspace {name} is no longer stopped.",
    "halt-all": "Everything is stopped.",
    "resume-all": "Everything is no longer stopped.",
    "disable-tool": "The tool {name} is stopped.",
    "enable-tool": "The tool {name} is no longer stopped.",
}


def _do(request: HttpRequest, access: Access) -> str:
    """Perform the verb of a form; return what came of it as a sentence."""
    given = request.POST
    verb, name, place = asked_action(request, *_DONE), given.get("name", ""), given.get("place", "")
    why = PauseIn(reason=given.get("reason", "").strip()[:200])
    known: dict[str, Callable[[], object]] = {
        "stop": lambda: verbs.stop_worker(access, _number(name)),
        "restart": lambda: verbs.restart_worker(access, _number(name)),
        "pause-queue": lambda: verbs.pause_queue(access, name, why),
        "resume-queue": lambda: verbs.resume_queue(access, name),
        "halt-workspace": lambda: verbs.halt_any_workspace(access, access.workspace.slug, why),
        "resume-workspace": lambda: verbs.resume_any_workspace(access, name),
        "halt-all": lambda: _halt_everything(access, given.get("word", ""), why),
        "resume-all": lambda: verbs.resume_everything(access),
        "disable-tool": lambda: _disable_tool(access, name, place, why),
        "enable-tool": lambda: _enable_tool(access, name, place),
    }
    known[verb]()
    return _DONE[verb].format(name=name)


def _halt_everything(access: Access, word: str, why: PauseIn) -> None:
    if word.strip() != EVERYTHING:
        raise HeartbitError(f"Nothing was stopped: type {EVERYTHING} to stop everything.")
    verbs.halt_everything(access, why)


def _disable_tool(access: Access, name: str, place: str, why: PauseIn) -> None:
    if place:
        verbs.disable_tool_in_any_workspace(access, place, name, why)
    else:
        verbs.disable_tool(access, name, why)


def _enable_tool(access: Access, name: str, place: str) -> None:
    if place:
        verbs.enable_tool_in_any_workspace(access, place, name)
    else:
        verbs.enable_tool(access, name)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise HeartbitError("There is no such worker.")
    return int(text)
