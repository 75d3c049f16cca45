"""Results of `heartbit usage`, `deliveries` and `messages`. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.cli.backend import backend_for
from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import one_line, write, write_json, write_view
from heartbit_site.cli.table import print_table
from heartbit_site.contract.deliveries import LIST_DELIVERIES
from heartbit_site.contract.messages import LIST_MESSAGES, SHOW_MESSAGE
from heartbit_site.contract.usage import SHOW_USAGE

if TYPE_CHECKING:
    from pydantic import BaseModel

    from heartbit_site.contract.deliveries import ResultDeliveryOut
    from heartbit_site.contract.messages import AgentMessageSummaryOut
    from heartbit_site.contract.usage import AgentUseOut, CountGaugeOut, MoneyGaugeOut

GAUGES: Final = ("WHAT", "USED", "LIMIT", "STATE")
AGENTS: Final = ("AGENT", "RUNS", "TOKENS", "COST")
DELIVERIES: Final = ("DELIVERY", "RUN", "STATUS", "ATTEMPTS", "WHERE", "PROBLEM")
MESSAGES: Final = ("TIME", "FROM", "KIND", "THREAD", "TEXT")
STYLES: Final = {
    "warning": "yellow",
    "exceeded": "red",
    "delivered": "green",
    "failed": "red",
    "pending": "cyan",
}
AGENT_WIDTH: Final = 40
TEXT_WIDTH: Final = 300
SHORT_ID: Final = 18  # of a run's: its milliseconds and what tells their runs apart


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
    print_table(GAUGES, gauges, styles=STYLES)
    if found.agents:
        write("")
        print_table(AGENTS, [_agent(row) for row in found.agents])
    if found.unpriced_calls:
        write(f"\nOf {found.unpriced_calls} model calls of this month the price is not known.")
    return OK


def deliveries(url: str | None, run: str, status: str | None, count: int, *, as_json: bool) -> int:
    """Print where results went, the newest first."""
    page = backend_for(url).call(LIST_DELIVERIES, run=run or None, status=status, limit=count)
    if as_json:
        _write_rows(page)
    elif not page.deliveries:
        write("No such deliveries." if run or status else "No result was ordered for anybody yet.")
    else:
        print_table(DELIVERIES, [_delivery(row) for row in page.deliveries], styles=STYLES)
    return OK


def inbox(url: str | None, agent: str, count: int, *, as_json: bool) -> int:
    """Print what an agent was written, the newest first."""
    page = backend_for(url).call(LIST_MESSAGES, to=agent, limit=count)
    if as_json:
        _write_rows(page)
    elif not page.messages:
        write(f"Nobody has written to {one_line(agent, AGENT_WIDTH)} yet.")
    else:
        print_table(MESSAGES, [_message(row) for row in page.messages])
    return OK


def message(url: str | None, message_id: str, *, as_json: bool) -> int:
    """Write one message with the whole of its text."""
    found = backend_for(url).call(SHOW_MESSAGE, message_id=message_id)
    if as_json:
        write_view(found)
    else:
        write(found.text)
    return OK


def _write_rows(page: BaseModel) -> None:
    """Write the rows of a page as JSON, without the cursor: so many were asked for."""
    write_json(page.model_dump(mode="json", exclude={"next_cursor"}))


def _gauge(name: str, gauge: CountGaugeOut | MoneyGaugeOut, unit: str = "") -> tuple[str, ...]:
    limit = "-" if gauge.limit is None else _amount(gauge.limit, unit)
    percent = "" if gauge.percent is None else f" ({gauge.percent} %)"
    return (name, f"{_amount(gauge.used, unit)}{percent}", limit, gauge.state)


def _amount(value: int | str, unit: str) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{unit}{value}"


def _agent(row: AgentUseOut) -> tuple[str, ...]:
    name = one_line(row.agent or "(deleted runs)", AGENT_WIDTH)
    return (name, f"{row.runs:,}", f"{row.tokens:,}", f"${row.cost_usd}")


def _delivery(row: ResultDeliveryOut) -> tuple[str, ...]:
    return (
        str(row.id),
        row.run_id[:SHORT_ID],
        row.status,
        str(row.attempts),
        one_line(row.recipient, TEXT_WIDTH),
        one_line(row.error, TEXT_WIDTH),
    )


def _message(row: AgentMessageSummaryOut) -> tuple[str, ...]:
    return (
        f"{row.created_at:%Y-%m-%d %H:%M:%S}",
        one_line(row.sender.removeprefix("agent:"), AGENT_WIDTH),
        row.kind,
        one_line(row.thread, AGENT_WIDTH),
        one_line(row.text, TEXT_WIDTH),
    )
