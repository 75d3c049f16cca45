"""Tools for messages between agents (docs/howto/messages.md)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from agents.actions import inbox
from agents.actions import send_message as sending
from agents.loop.delegation import results
from agents.messaging.addresses import sender_of_call
from agents.messaging.limits import MOST_CHARACTERS, MOST_OF_A_THREAD
from agents.messaging.texts import describe_receipt
from agents.models import Run
from heartbit_site.base.suspensions import Suspension
from heartbit_site.base.toolspec import Effect, ToolContext, tool

DAY_SECONDS = 86_400

Text = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
One = Annotated[
    str, Field(min_length=1, max_length=100, description="The agent's name, or orchestrator.")
]


@tool(effect=Effect.TRANSACTIONAL, tags=("messages",), labels=(), summary="Message to {to}: {text}")
def send_message(
    context: ToolContext,
    to: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="An agent's name, orchestrator, or broadcast for every other agent.",
        ),
    ],
    text: Text,
    thread: Annotated[
        str,
        Field(
            max_length=MOST_OF_A_THREAD,
            description="The topic, e.g. order-17: messages of a thread are read in order.",
        ),
    ] = "",
) -> str:
    """Put a message into another agent's inbox. It starts nothing; it is read when they read."""
    sender = sender_of_call(context)
    message = sending.send_message(sender, to, text, thread=thread, key=context.idempotency_key)
    return describe_receipt(message)


@tool(
    effect=Effect.TRANSACTIONAL,
    tags=("messages",),
    labels=(),
    summary="Reply to message {message}: {text}",
)
def reply_to_message(
    context: ToolContext,
    message: Annotated[str, Field(min_length=36, max_length=40, description="The message's id.")],
    text: Text,
) -> str:
    """Answer a message that you were sent. A run that sent it and still runs sees it at once."""
    sender = sender_of_call(context)
    reply = inbox.reply_to_message(sender, message, text, key=context.idempotency_key)
    return describe_receipt(reply)


@tool(
    effect=Effect.IDEMPOTENT,
    tags=("messages",),
    resume=results,
    labels=(),
    summary="Ask {to}: {question}",
)
def ask_agent(
    context: ToolContext,
    to: One,
    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MOST_CHARACTERS,
            description="All that is needed to answer: they cannot see this conversation.",
        ),
    ],
    timeout_seconds: Annotated[
        int, Field(ge=1, le=DAY_SECONDS, description="Seconds to wait for the answer.")
    ] = 300,
) -> Suspension:
    """Ask another agent, and wait for its answer."""
    sender = sender_of_call(context)
    key = context.idempotency_key
    return sending.ask_agent(sender, to, question, timeout_seconds=timeout_seconds, key=key)


@tool(
    effect=Effect.TRANSACTIONAL, tags=("messages",), labels=(), summary="Give {to} the task: {task}"
)
def start_agent(
    context: ToolContext,
    to: One,
    task: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MOST_CHARACTERS,
            description="All that is needed to do it: they cannot see this conversation.",
        ),
    ],
) -> str:
    """Give another agent a task and continue: you do not wait for the result."""
    sender = sender_of_call(context)
    message = sending.start_agent(sender, to, task, key=context.idempotency_key)
    return f"Started run {message.run_id} of {message.recipient} (message {message.pk})."


@tool(effect=Effect.TRANSACTIONAL, tags=("messages",), labels=())
def read_messages(
    context: ToolContext,
    limit: Annotated[int, Field(ge=1, le=50, description="Maximum number of messages.")] = 10,
) -> dict[str, Any] | str:
    """Read your inbox, the oldest message first. What you read is out of it then."""
    run = Run.objects.select_related("version").get(pk=context.run_id)
    read = inbox.read_inbox(run, limit=limit)
    if not read.messages:
        return "Your inbox is empty."
    return {"messages": list(read.messages), "unread": read.unread}
