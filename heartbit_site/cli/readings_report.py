"""What `heartbit usage`, `deliveries` and `messages` say. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from heartbit_site.cli.errors import OK
from heartbit_site.cli.output import one_line, write, write_json
from heartbit_site.cli.table import print_table
from heartbit_site.cli.targets import target_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.readings import Readings

GAUGES: Final = ("WHAT", "USED", "LIMIT", "STATE")
AGENTS: Final = ("AGENT", "RUNS", "TOKENS", "COST")
DELIVERIES: Final = ("DELIVERY", "RUN", "STATUS", "ATTEMPTS", "WHERE", "PROBLEM")
MESSAGES: Final = ("TIME", "FROM", "KIND", "THREAD", "TEXT")
STYLES: Final = {
    "nearly": "yellow",
    "spent": "red",
    "delivered": "green",
    "failed": "red",
    "pending": "cyan",
}
AGENT_WIDTH: Final = 40
TEXT_WIDTH: Final = 300
SHORT_ID: Final = 18  # of a run's: its milliseconds and what tells their runs apart


def usage(readings: Readings, *, as_json: bool) -> int:
    """The quotas and budgets, and which agents used how much this month."""
    found = readings.usage()
    if as_json:
        write_json(dict(found))
        return OK
    write(f"Tier: {one_line(found['tier'] or 'none')}, {found['queued']} runs queued")
    write("")
    gauges = [
        _gauge("runs today", found["runs_today"]),
        _gauge("tokens this month", found["tokens_this_month"]),
        _gauge("cost this month", found["usd_this_month"], "$"),
        _gauge("runs at once", found["runs_at_once"]),
    ]
    for budget in found["budgets"]:
        whose = f"{one_line(budget['agent'], AGENT_WIDTH)}, " if budget["agent"] else ""
        for name, unit in (("tokens", ""), ("usd", "$")):
            if budget[name] is not None:
                of = "cost" if unit else name
                gauges.append(
                    _gauge(f"budget: {whose}{of} a {budget['period']}", budget[name], unit)
                )
    print_table(GAUGES, gauges, styles=STYLES)
    if found["agents"]:
        write("")
        print_table(AGENTS, [_agent(row) for row in found["agents"]])
    if found["unpriced_calls"]:
        write(f"\nOf {found['unpriced_calls']} model calls of this month the price is not known.")
    return OK


def deliveries(readings: Readings, run: str, status: str, count: int, *, as_json: bool) -> int:
    """Where results went."""
    found = readings.deliveries(run, status, count)
    if as_json:
        write_json({"deliveries": found})
    elif not found:
        write("No such deliveries." if run or status else "No result was ordered for anybody yet.")
    else:
        print_table(DELIVERIES, [_delivery(row) for row in found], styles=STYLES)
    return OK


def inbox(readings: Readings, agent: str, count: int, *, as_json: bool) -> int:
    """What an agent was written."""
    found = readings.inbox(agent, count)
    if as_json:
        write_json({"messages": found})
    elif not found:
        write(f"Nobody has written to {one_line(agent, AGENT_WIDTH)} yet.")
    else:
        print_table(MESSAGES, [_message(row) for row in found])
    return OK


def message(readings: Readings, message_id: str, *, as_json: bool) -> int:
    """Write one message with the whole of its text."""
    found = readings.message(message_id)
    if as_json:
        write_json(found)
    else:
        write(found["text"])
    return OK


def _gauge(name: str, gauge: Mapping[str, Any], unit: str = "") -> tuple[str, ...]:
    limit = "-" if gauge["limit"] is None else f"{_amount(gauge['limit'], unit)}"
    percent = "" if gauge["percent"] is None else f" ({gauge['percent']} %)"
    return (name, f"{_amount(gauge['used'], unit)}{percent}", limit, gauge["state"])


def _amount(value: int | str, unit: str) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{unit}{value}"


def _agent(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = one_line(row["agent"] or "(deleted runs)", AGENT_WIDTH)
    return (name, f"{row['runs']:,}", f"{row['tokens']:,}", f"${row['cost_usd']}")


def _delivery(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["delivery"]),
        row["run"][:SHORT_ID],
        row["status"],
        str(row["attempts"]),
        one_line(target_text(row["target"]), TEXT_WIDTH),
        one_line(row["error"], TEXT_WIDTH),
    )


def _message(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["created_at"][:19].replace("T", " "),
        one_line(row["sender"].removeprefix("agent:"), AGENT_WIDTH),
        row["kind"],
        one_line(row["thread"], AGENT_WIDTH),
        one_line(row["text"], TEXT_WIDTH),
    )
