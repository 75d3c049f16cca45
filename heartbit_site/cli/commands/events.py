"""`heartbit events`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from agents.system_events.types import EventOut, check_pattern
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.following.system_events import listen
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import OK, UsageError
from heartbit_site.cli.terminal.output import as_json, note, one_line, write, write_json
from heartbit_site.cli.terminal.times import span

PATTERNS = common.option("--type -t PATTERN", "Type of event, such as run.failed or 'run.*'.", None)
AGENT = common.option("NAME", "Only events about this agent.")
SINCE = common.option("--since DURATION", "Begin this long ago, such as 30m, 2h or 1d.", "1h")
AFTER = common.option("ID", "Begin after the event of this id, as --json prints it, instead.")
FOLLOW = common.flag("--follow -f", "Wait for further events.")


def events(
    *,
    patterns: list[str] | None = PATTERNS,
    agent: str = AGENT,
    since: str = SINCE,
    after: str = AFTER,
    follow: bool = FOLLOW,
) -> int:
    """Print the workspace's events, or follow them.

    The oldest comes first, of those of the last hour.
    """
    try:
        wanted = [check_pattern(one) for one in patterns or ()]
    except ValueError as error:
        raise UsageError(f"{error}") from None
    query: dict[str, Any] = {"type": wanted, "agent": agent, "after": after}
    if not after:
        begins = datetime.now(UTC) - timedelta(seconds=span(since, "--since"))
        query["since"] = begins.isoformat()
    found = False
    for event in listen(backend(reads_only=True), query, follow=follow):
        found = True
        _print(event)
    if not found and not as_json():
        note("No such events.")
    return OK


def _print(event: EventOut) -> None:
    if as_json():
        write_json(event.model_dump(mode="json"))
        return
    data = event.data.model_dump(mode="json", exclude_none=True, exclude={"run_id", "kind"})
    facts = data.pop("call", {}) | data
    said = ", ".join(f"{name} {value}" for name, value in facts.items() if value != "")
    at = event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    write(f"{at}  {event.type:<19}  {one_line(event.subject)}  {one_line(said, 300)}")
