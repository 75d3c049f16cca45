"""The inbox: everything that waits for a person, grouped and filtered, and decisions about several.

The list is drawn here; a row carries its view of the API, from which the page's script makes the
card. A decision names the digest that its row was drawn with (docs/decisions/0005).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import unescape
from typing import Any, Final

from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from agents.actions.notified_browsers import (
    add_browser,
    browsers_of,
    push_key,
    remove_browser,
)
from agents.approvals.call_summary import summarize_call
from agents.journal.waits import REVIEW
from agents.querysets import calls_waiting, is_asked
from heartbit_site.base import amounts
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError, NotFoundError
from heartbit_site.base.visible_text import compact_json, visible
from heartbit_site.contract.approvals import ApprovalOut, DecisionIn, UncertainCallOut
from heartbit_site.contract.model import MOST_ROWS
from heartbit_site.contract.waits import WaitOut
from heartbit_site.operations import approvals
from heartbit_site.operations.calls import find_asked_call
from heartbit_site.operations.waits import list_waits
from heartbit_site.web.page import page, show

Asked = ApprovalOut | UncertainCallOut | WaitOut
MOST_AT_ONCE: Final = 100
_MOST_REASON: Final = 2000
_MOST_TITLE: Final = 160
KINDS: Final = {
    "approval": "To approve",
    "question": "Questions",
    "outcome": "Outcome unknown",
    "review": "To review",
    "wait": "Other waits",
}
KEYS: Final = (
    *(("j", "the next one"), ("k", "the one before"), ("a", "approve or answer it")),
    *(("e", "edit its arguments"), ("d", "deny it"), ("u", "take the last decision back")),
    *(("t", "try it without keeping it"), ("Escape", "close a form"), ("?", "these keys")),
)
LOOKS: Final = frozenset({"j", "k", "?"})  # keys that decide nothing
DONE: Final = {"approve": "Approved", "deny": "Denied"}


@dataclass(frozen=True, slots=True)
class InboxRow:
    """Something that waits.

    Attributes:
        key: Name that stays the same while it waits for the same people.
        kind: One of ``KINDS``.
        title: Its summary, else its question, else the arguments.
        is_mine: True if the viewer may decide it and has not approved it yet.
    """

    asked: Asked
    key: str
    kind: str
    title: str
    tool: str
    is_mine: bool

    @property
    def group(self) -> tuple[str, str]:
        """Tool and agent."""
        return self.tool, self.asked.agent

    @property
    def json(self) -> str:
        """JSON of its view of the API."""
        return json.dumps(self.asked.model_dump(mode="json"))

    @property
    def waited(self) -> str:
        """Time since it began to wait."""
        since: datetime | None = self.asked.waiting_since
        waited = timezone.now() - since if since else timedelta()
        return amounts.duration(waited) if waited >= timedelta(minutes=1) else "now"

    @property
    def choice(self) -> str:
        """Value by which a form means the call as it is drawn; empty: it is decided alone."""
        asked = self.asked
        if self.kind != "approval" or not isinstance(asked, ApprovalOut):
            return ""
        return f"{asked.run_id}/{asked.call_id}/{asked.digest}"


@page("runs:read")
def inbox(request: HttpRequest, access: Access) -> HttpResponse:
    """Show what waits for a person in the workspace."""
    rows, more = _rows(access)
    wanted = {name: request.GET.get(name, "") for name in ("tool", "agent", "kind", "whose")}
    shown = [row for row in rows if _fits(row, wanted)]
    groups: dict[tuple[str, str], list[InboxRow]] = {}
    for row in shown:
        groups.setdefault(row.group, []).append(row)
    decides = access.allows("approvals:decide")
    context = {
        "groups": [(tool, agent, found) for (tool, agent), found in groups.items()],
        "filters": _filters(rows, wanted),
        "is_filtered": any(wanted.values()),
        "count": len(rows),
        "more": more,
        "decides": decides,
        "keys": [one for one in KEYS if decides or one[0] in LOOKS],
    }
    return show(request, access, "web/inbox.html", context, here="inbox")


@page("approvals:decide")
def notify(request: HttpRequest, access: Access) -> HttpResponse:
    """Have the viewer notified in this browser, or no longer; answer with the installation's key.

    Scripts post here; at first without an address, for the key that the browser subscribes with.
    """
    if request.method != "POST":
        return redirect("web:inbox", access.workspace.slug)
    endpoint, public = request.POST.get("endpoint", ""), request.POST.get("p256dh", "")
    secret = request.POST.get("auth", "")
    try:
        if public:
            add_browser(access, endpoint=endpoint, public=public, secret=secret)
        else:
            for one in browsers_of(access):
                if one.endpoint == endpoint:
                    remove_browser(access, one)
    except HeartbitError as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(push_key().public, content_type="text/plain")


@page("runs:read")
def approvals_moved(request: HttpRequest, access: Access) -> HttpResponse:
    """Lead from the inbox's former address to the inbox."""
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    return redirect(reverse("web:inbox", args=[access.workspace.slug]) + query)


@page("approvals:decide")
def decide_several(request: HttpRequest, access: Access) -> HttpResponse:
    """Name the chosen calls and ask once; then decide each by itself, and say what became of it."""
    if request.method != "POST":
        return redirect("web:inbox", access.workspace.slug)
    choices = list(dict.fromkeys(request.POST.getlist("call")))
    verdict = request.POST.get("verdict", "")
    if verdict not in DONE or not choices or len(choices) > MOST_AT_ONCE:
        problem = f"Nothing was decided: choose calls, at most {MOST_AT_ONCE}, and Approve or Deny."
        return _several(request, access, {"problem": problem}, status=422)
    rows = {row.choice: row for row in _rows(access)[0] if row.choice}
    chosen = [_chosen(access, choice, rows.get(choice)) for choice in choices]
    if not request.POST.get("sure"):
        return _several(request, access, {"verdict": verdict, "chosen": chosen})
    reason = request.POST.get("reason", "")[:_MOST_REASON] if verdict == "deny" else ""
    results = [(one, *_decide(access, one.choice, verdict, reason)) for one in chosen]
    refused = sum(bool(problem) for _, _, problem in results)
    context = {"results": results, "done": len(results) - refused, "refused": refused}
    return _several(request, access, context | {"verb": DONE[verdict].lower()})


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A chosen call; ``row`` is None once it waits no longer."""

    choice: str
    title: str
    row: InboxRow | None


def _chosen(access: Access, choice: str, row: InboxRow | None) -> _Chosen:
    if row is not None:
        return _Chosen(choice, row.title, row)
    run_id, call_id, digest = _parts(choice)
    try:
        call = find_asked_call(access, run_id, call_id)
    except NotFoundError:
        return _Chosen(choice, "A call that is gone", None)
    if call.digest != digest:
        return _Chosen(choice, f"A call of {visible(call.tool)} that has changed", None)
    arguments = (call.approval_view or {}).get("arguments", {})
    title = summarize_call(call, arguments) or _arguments(arguments) or visible(call.tool)
    return _Chosen(choice, title[:_MOST_TITLE], None)


def _parts(choice: str) -> tuple[str, str, str]:
    """Return the run, the call and the digest that a choice names."""
    run_id, _, rest = choice.partition("/")
    call_id, _, digest = rest.rpartition("/")
    return run_id, call_id, digest


def _decide(access: Access, choice: str, verdict: str, reason: str) -> tuple[str, str]:
    """Decide one call as it was drawn; return what was done, and why it was refused."""
    run_id, call_id, digest = _parts(choice)
    try:
        body = DecisionIn.model_validate({"digest": digest, "verdict": verdict, "reason": reason})
        decided = approvals.decide(access, run_id, call_id, body)
    except HeartbitError as error:
        return "", str(error)
    except ValueError:
        return "", "The call is not named whole: choose it in the inbox again."
    missing = decided.remaining_approvals
    return DONE[verdict] + (f", {missing} more needed" if missing else ""), ""


def _several(
    request: HttpRequest, access: Access, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    return show(request, access, "web/inbox_several.html", context, here="inbox", status=status)


def _rows(access: Access) -> tuple[list[InboxRow], bool]:
    """Return what waits, the oldest first, and whether more does."""
    calls = approvals.list_approvals(access, limit=MOST_ROWS)
    doubts = approvals.list_uncertain_calls(access, limit=MOST_ROWS)
    waits = list_waits(access, limit=MOST_ROWS)
    asked = calls_waiting(access.workspace).filter(is_asked(access.user_id))
    mine = {(str(run), call) for run, call in asked.values_list("run_id", "call_id")}
    found: list[Asked] = [*calls.calls, *doubts.calls, *waits.waits]
    groups: set[str] = set()
    if any(wait.group for wait in waits.waits):
        groups |= set(Group.objects.filter(user=access.user_id).values_list("name", flat=True))
    rows = [_row(one, access, mine, groups) for one in found]
    rows.sort(key=lambda row: (row.asked.waiting_since is not None, row.asked.waiting_since))
    more = calls.next_cursor or doubts.next_cursor or waits.next_cursor
    return rows, bool(more)


def _row(
    asked: Asked, access: Access, mine: Collection[tuple[str, str]], groups: Collection[str]
) -> InboxRow:
    me = approvals.decider(access).name
    place = f"{asked.run_id}/{asked.call_id}"
    is_mine = True  # of what has no approver group
    match asked:
        case WaitOut():
            title, tool = _question(asked) or asked.label, asked.tool or asked.label
            kind = REVIEW.name if asked.kind == REVIEW.name else "wait"
            escalated = "" if asked.group or asked.person else "/all"
            key = f"{place}/{asked.key}{escalated}"
            is_mine = asked.person in ("", me) and (not asked.group or asked.group in groups)
            is_mine = is_mine and access.allows(asked.scope)
            return InboxRow(asked, key, kind, title[:_MOST_TITLE], tool, is_mine)
        case UncertainCallOut():
            key, kind = f"{place}/{asked.question}", "outcome"
        case ApprovalOut():
            escalated = "/escalated" if asked.escalated else ""
            key = f"{place}/{asked.digest}{escalated}"
            kind = "approval" if asked.answer_schema is None else "question"
            is_mine = (asked.run_id, asked.call_id) in mine and me not in asked.approved_by
    title = asked.summary or _arguments(asked.arguments) or visible(asked.tool)
    return InboxRow(asked, key, kind, title[:_MOST_TITLE], visible(asked.tool), is_mine)


def _question(asked: WaitOut) -> str:
    """Return what a wait asks; of a result its first line, without the marks of Markdown."""
    first = unescape(strip_tags(asked.result_html.partition("\n")[0])).strip()
    return first if any(map(str.isalnum, first)) else visible(asked.question)


def _arguments(arguments: Mapping[str, Any]) -> str:
    """Return arguments on one line, for calls of tools without a summary."""
    return ", ".join(f"{visible(name)} {compact_json(one)}" for name, one in arguments.items())


def _fits(row: InboxRow, wanted: Mapping[str, str]) -> bool:
    found = {"tool": row.tool, "agent": row.asked.agent, "kind": row.kind}
    if wanted["whose"] == "mine" and not row.is_mine:
        return False
    return all(wanted[name] in ("", value) for name, value in found.items())


def _filters(rows: list[InboxRow], wanted: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the filters that separate something, or are in use, with their choices."""
    tools = {row.tool: row.tool for row in rows}
    agents = {row.asked.agent: row.asked.agent for row in rows}
    kinds = {name: label for name, label in KINDS.items() if any(row.kind == name for row in rows)}
    whose = {"mine": "Mine to decide"} if any(not row.is_mine for row in rows) else {}
    return [
        {"name": name, "label": label, "every": every, "choices": choices, "value": wanted[name]}
        for name, label, every, choices, least in (
            ("tool", "Tool", "All tools", dict(sorted(tools.items())), 2),
            ("agent", "Agent", "All agents", dict(sorted(agents.items())), 2),
            ("kind", "Kind", "All kinds", kinds, 2),
            ("whose", "Whose", "Everybody's", whose, 1),
        )
        if len(choices) >= least or wanted[name]
    ]
