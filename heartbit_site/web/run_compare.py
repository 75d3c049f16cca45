"""Two runs side by side: turn by turn, with tokens, time and cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from agents.choices import RunKind
from heartbit_site.base.access import Access
from heartbit_site.base.amounts import duration, money
from heartbit_site.base.markdown import to_html
from heartbit_site.base.visible_text import visible
from heartbit_site.contract.runs import RunViewOut
from heartbit_site.contract.turns import TurnRowOut
from heartbit_site.operations import run_reads, turns
from heartbit_site.web.page import page, show
from heartbit_site.web.run_facts import tokens

_MOST_TURNS = 1000


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A line of figures: of the one run, of the other, and what the other has more."""

    name: str
    one: str
    other: str
    more: str = ""


@page("runs:read")
def compare(request: HttpRequest, access: Access, run: UUID, other: UUID) -> HttpResponse:
    """Show two runs of the workspace beside each other."""
    views = [run_reads.show_run(access, str(one)) for one in (run, other)]
    rows = [_turns(access, view) for view in views]
    pairs = [
        {
            "number": number,
            "is_same": one is not None and two is not None and _content(one) == _content(two),
            "sides": [_side(one), _side(two)],
        }
        for number, (one, two) in enumerate(zip_longest(*rows), 1)
    ]
    context = {
        "runs": [{"view": view, "html": to_html(view.output or "")} for view in views],
        "figures": _figures(*views),
        "turns": pairs,
        "same_task": views[0].task == views[1].task,
    }
    return show(request, access, "web/run/compare.html", context, here="runs")


def _turns(access: Access, view: RunViewOut) -> list[TurnRowOut]:
    if view.kind != RunKind.AGENT:
        return []
    return turns.list_turns(access, view.id, limit=_MOST_TURNS).turns


def _content(turn: TurnRowOut) -> tuple[Any, ...]:
    """Return what makes two turns the same one: a fork has copies of those before it."""
    return turn.text, turn.tools, turn.usage, turn.duration_ms


def _side(turn: TurnRowOut | None) -> dict[str, Any] | None:
    if turn is None:
        return None
    return {
        "html": to_html(turn.text),
        "tools": ", ".join(map(visible, turn.tools)),
        "model": turn.model,
        "tokens": tokens(turn.usage.input_tokens, turn.usage.output_tokens),
        "cost": _money(turn.cost_usd),
        "time": duration(turn.duration_ms / 1000),
    }


def _figures(one: RunViewOut, other: RunViewOut) -> list[ComparedFigure]:
    first, second = one.metrics, other.metrics
    costs, times = (first.cost_usd, second.cost_usd), (first.duration_ms, second.duration_ms)
    versions = [f"{view.agent}, version {view.version}" for view in (one, other)]
    return [
        ComparedFigure("Version", versions[0], versions[1]),
        ComparedFigure("Model", one.model, other.model),
        _counts("Model calls", first.model_calls, second.model_calls),
        _counts("Tool calls", first.tool_calls, second.tool_calls),
        _counts("Tokens in", first.input_tokens, second.input_tokens),
        _counts("Tokens out", first.output_tokens, second.output_tokens),
        ComparedFigure("Cost", _money(costs[0]), _money(costs[1]), _more(*costs)),
        ComparedFigure("Time", duration(times[0] / 1000), duration(times[1] / 1000), _more(*times)),
    ]


def _counts(name: str, one: int, other: int) -> ComparedFigure:
    return ComparedFigure(name, f"{one:,}", f"{other:,}", _more(one, other))


def _more(one: int | str | None, other: int | str | None) -> str:
    """Return how much more the other has, in percent: ``+12 %``; empty if nothing can be said."""
    if one is None or other is None or not Decimal(one) or Decimal(one) == Decimal(other):
        return ""
    return f"{round(100 * (Decimal(other) / Decimal(one) - 1)):+,} %"


def _money(usd: str | None) -> str:
    return "unknown" if usd is None else money(Decimal(usd))
