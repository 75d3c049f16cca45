"""`heartbit conversations`: threads with agents."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.following.streams import accepted
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.output import one_line, write
from heartbit_site.cli.terminal.table import Table, print_facts
from heartbit_site.cli.terminal.times import local_minute
from heartbit_site.contract import conversations as contract
from heartbit_site.contract import private_conversations
from heartbit_site.contract.runs import SHOW_RUN

TABLE: Final = Table.of(
    contract.ConversationRowOut,
    "CONVERSATION=id AGENT STATUS=status|- ACTIVE=active_at HEADING=heading:80 _=waits_for_person",
    none="No conversations yet: `heartbit conversations add` begins one.",
)


def _show(found: contract.ThreadOut) -> None:
    facts = [
        ("id", found.id),
        ("agent", found.agent),
        ("when busy", found.busy_policy),
        ("began", local_minute(found.created_at)),
    ]
    print_facts(found.heading or "(no message yet)", facts)
    for message in found.messages:
        who = one_line(message.started_by or "somebody")
        write(f"\n{who}, {local_minute(message.created_at)}\n{message.text}")
        write(f"\n{found.agent} ({message.status}, run {message.run_id})\n{message.answer or '-'}")


app = common.group()
CONVERSATIONS: Final = Verbs(app, "conversation", contract.LIST_CONVERSATIONS, TABLE)
AGENT: Final = common.option("--agent -a NAME", "Let it answer; else the orchestrator.", None)
CONVERSATION: Final = common.argument("CONVERSATION", "The conversation's id.")
TEXT: Final = common.argument("TEXT", "The message.")

CONVERSATIONS.list("List the conversations, the last used first.", limit=common.LAST)
CONVERSATIONS.do(
    "show", contract.SHOW_CONVERSATION, "Show a conversation and its last messages.", show=_show
)
CONVERSATIONS.do(
    "add",
    contract.CREATE_CONVERSATION,
    "Begin a conversation with an agent, and print its id.",
    said="{id}",
    agent=AGENT,
    title=common.option("--title", "Set the title; none: the first message's beginning.", None),
)
CONVERSATIONS.do(
    "change",
    contract.CHANGE_CONVERSATION,
    "Change the given settings of a conversation; the others stay.",
)

PRIVATE_TABLE: Final = Table.of(
    private_conversations.PrivateConversationOut,
    "CONVERSATION=id OWNER=owner|- AGENT STATUS=status|- ACTIVE=active_at MESSAGES COST=cost_usd",
    none="No conversation of the workspace is private.",
)
CONVERSATIONS.list_of(
    "private",
    private_conversations.LIST_PRIVATE_CONVERSATIONS,
    PRIVATE_TABLE,
    "List the private conversations of all members: owner, state and cost.",
)


@app.command(cls=RemoteCommand)
def post(
    conversation_id: str = CONVERSATION,
    text: str = TEXT,
    *,
    watch: bool = common.WATCH,
    plain: bool = common.PLAIN,
) -> int:
    """Post a message, and print the id of the run that answers."""
    server = backend()
    posted = server.call(contract.POST_MESSAGE, {"text": text}, conversation_id=conversation_id)
    run = server.call(SHOW_RUN, run_id=posted.run_id)
    return accepted(server, run, watch=watch, plain=plain)


CONVERSATIONS.remove(
    contract.DELETE_CONVERSATION,
    "Delete a conversation; its runs stay.",
    stays="its runs and their cost stay",
)
