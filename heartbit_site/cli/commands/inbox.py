"""`heartbit inbox`."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.output import NAME_WIDTH, one_line
from heartbit_site.cli.terminal.table import Table, print_done, print_list
from heartbit_site.contract.agents import SHOW_AGENT
from heartbit_site.contract.messages import (
    LIST_MESSAGES,
    SEND_MESSAGE,
    SHOW_MESSAGE,
    AgentMessageSummaryOut,
)

AGENT = common.argument("AGENT", "The agent whose inbox is listed.")
MESSAGE = common.argument("[MESSAGE]", "Show all of this message; --json lists the ids.", "")

SEND = common.option("--send TEXT", "Send this message to the agent instead.")
TASK = common.flag("--task", "With --send: start a run of the agent with the message.")

BROADCAST: Final = "broadcast"  # every agent's inbox


def inbox(
    agent: str = AGENT,
    message: str = MESSAGE,
    *,
    send: str = SEND,
    task: bool = TASK,
    last: int = common.LAST,
) -> int:
    """List an agent's messages, or write one."""
    if task and not send:
        raise UsageError("--task goes with --send: say what the agent should do.")
    server = backend()
    if send:
        given = {"to": agent, "text": send, "kind": "task" if task else "notification"}
        sent = server.call(SEND_MESSAGE, given)
        return print_done(sent, sent.run_id or f"It is in the inbox of {one_line(agent)}.")
    if message:
        found = server.call(SHOW_MESSAGE, message_id=message)
        return print_done(found, found.text)
    page = server.call(LIST_MESSAGES, to=agent, limit=last)
    if not page.messages and agent != BROADCAST:
        server.call(SHOW_AGENT, name=agent)  # refused if there is no such agent
    none = f"Nobody has written to {one_line(agent, NAME_WIDTH)} yet."
    return print_list(page, MESSAGES, none=none)


MESSAGES: Final = Table.of(
    AgentMessageSummaryOut,
    "TIME FROM KIND THREAD=thread:40 TEXT=text:300",
    TIME=lambda row: f"{row.created_at:%Y-%m-%d %H:%M:%S}",
    FROM=lambda row: one_line(row.sender.removeprefix("agent:"), NAME_WIDTH),
)
