"""Results of `heartbit usage`, `deliveries` and `messages`. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import one_line, write, write_view
from heartbit_site.cli.run_names import SHORT_ID
from heartbit_site.cli.table import Lines, Table, print_done, print_list
from heartbit_site.contract.deliveries import LIST_DELIVERIES, ResultDeliveryOut
from heartbit_site.contract.messages import LIST_MESSAGES, SHOW_MESSAGE, AgentMessageSummaryOut
from heartbit_site.contract.usage import SHOW_USAGE, AgentUseOut

if TYPE_CHECKING:
    from pydantic import BaseModel

    from heartbit_site.contract.usage import CountGaugeOut, MoneyGaugeOut

GAUGES: Final = ("WHAT", "USED", "LIMIT", "STATE")
STYLES: Final = {
    "warning": "yellow",
    "exceeded": "red",
    "delivered": "green",
    "failed": "red",
    "pending": "cyan",
}
AGENT_WIDTH: Final = 40
TEXT_WIDTH: Final = 300


def usage(url: str | None, *, as_json: bool) -> int:
    """Print the quotas and budgets, and which agents used how much this month."""
    found = backend_for(url).call(SHOW_USAGE)
    if as_json:
        write_view(found)
        return OK
    write(f"Tier: {one_line(found.tier or 'none')}, {found.queued} runs queued")
    write("")
    gauges = [
        _gauge("runs today", found.runs_today),
        _gauge("tokens this month", found.tokens_this_month),
        _gauge("cost this month", found.usd_this_month, "$"),
        _gauge("runs at once", found.runs_at_once),
    ]
    for budget in found.budgets:
        whose = f"{one_line(budget.agent, AGENT_WIDTH)}, " if budget.agent else ""
        if budget.tokens is not None:
            gauges.append(_gauge(f"budget: {whose}tokens a {budget.period}", budget.tokens))
        if budget.usd is not None:
            gauges.append(_gauge(f"budget: {whose}cost a {budget.period}", budget.usd, "$"))
    Lines(GAUGES, gauges, STYLES).print()
    if found.agents:
        write("")
        AGENTS.of(found.agents).print()
    if found.unpriced_calls:
        write(f"\nOf {found.unpriced_calls} model calls of this month the price is not known.")
    return OK


def deliveries(url: str | None, run: str, status: str | None, count: int, *, as_json: bool) -> int:
    """Print where results went, the newest first."""
    page = backend_for(url).call(LIST_DELIVERIES, run=run or None, status=status, limit=count)
    none = "No such deliveries." if run or status else "No run delivers its result yet."
    lines = DELIVERIES.of(page.deliveries)
    return print_list(_without_cursor(page), lines, none=none, as_json=as_json)


def inbox(url: str | None, agent: str, count: int, *, as_json: bool) -> int:
    """Print what an agent was written, the newest first."""
    page = backend_for(url).call(LIST_MESSAGES, to=agent, limit=count)
    none = f"Nobody has written to {one_line(agent, AGENT_WIDTH)} yet."
    lines = MESSAGES.of(page.messages)
    return print_list(_without_cursor(page), lines, none=none, as_json=as_json)


def message(url: str | None, message_id: str, *, as_json: bool) -> int:
    """Write one message with the whole of its text."""
    found = backend_for(url).call(SHOW_MESSAGE, message_id=message_id)
    return print_done(found, found.text, as_json=as_json)


def _without_cursor(page: BaseModel) -> BaseModel:
    return page.model_copy(update={"next_cursor": None})


def _gauge(name: str, gauge: CountGaugeOut | MoneyGaugeOut, unit: str = "") -> tuple[str, ...]:
    limit = "-" if gauge.limit is None else _amount(gauge.limit, unit)
    percent = "" if gauge.percent is None else f" ({gauge.percent} %)"
    return (name, f"{_amount(gauge.used, unit)}{percent}", limit, gauge.state)


def _amount(value: int | str, unit: str) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{unit}{value}"


AGENTS: Final = Table[AgentUseOut](
    {
        "AGENT": lambda row: one_line(row.agent or "(deleted runs)", AGENT_WIDTH),
        "RUNS": lambda row: f"{row.runs:,}",
        "TOKENS": lambda row: f"{row.tokens:,}",
        "COST": lambda row: f"${row.cost_usd}",
    }
)
DELIVERIES: Final = Table[ResultDeliveryOut](
    {
        "DELIVERY": lambda row: row.id,
        "RUN": lambda row: row.run_id[:SHORT_ID],
        "STATUS": lambda row: row.status,
        "ATTEMPTS": lambda row: row.attempts,
        "WHERE": lambda row: one_line(row.recipient, TEXT_WIDTH),
        "PROBLEM": lambda row: one_line(row.error, TEXT_WIDTH),
    },
    STYLES,
)
MESSAGES: Final = Table[AgentMessageSummaryOut](
    {
        "TIME": lambda row: f"{row.created_at:%Y-%m-%d %H:%M:%S}",
        "FROM": lambda row: one_line(row.sender.removeprefix("agent:"), AGENT_WIDTH),
        "KIND": lambda row: row.kind,
        "THREAD": lambda row: one_line(row.thread, AGENT_WIDTH),
        "TEXT": lambda row: one_line(row.text, TEXT_WIDTH),
    }
)
