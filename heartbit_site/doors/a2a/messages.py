"""Messages of A2A: a message begins a task, or replies to what one asks."""

from __future__ import annotations

import hashlib
from uuid import UUID

from django.db import transaction

from agents.actions.run_request import start_conversation
from agents.actions.write_agents import ORCHESTRATOR
from agents.models import Conversation, Run
from agents.runs.idempotency_keys import InternalKey, run_with
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.doors.a2a.asks import reply
from heartbit_site.doors.a2a.errors import INVALID_PARAMS, A2AError
from heartbit_site.doors.a2a.requests import SentMessage
from heartbit_site.doors.a2a.tasks import find_task
from heartbit_site.doors.runs import start
from heartbit_site.operations.messages_of_conversations import find_conversation


def take(access: Access, agent: str, message: SentMessage) -> tuple[UUID, int]:
    """Begin a task with a message, or continue the one that it names. Blocks.

    Args:
        access: The caller.
        agent: The agent that is spoken to; empty: the workspace's orchestrator.
        message: The message; one that was sent before changes nothing.

    Returns:
        The task, and the sequence number of its last event before the message.

    Raises:
        A2AError: The message fits no task.
        HeartbitError: As ``admit``.
    """
    if not message.task_id:
        return _begin(access, agent, message), 0
    run = find_task(access, agent, message.task_id)
    if message.context_id not in ("", str(run.conversation_id)):
        raise A2AError(INVALID_PARAMS, "The contextId is not that of the task: leave one out.")
    reply(access, run, message)
    return run.pk, run.last_seq


@transaction.atomic
def _begin(access: Access, agent: str, message: SentMessage) -> UUID:
    sent = "\0".join((str(access.key_id), agent, message.message_id))
    key = InternalKey(f"heartbit:a2a:{hashlib.sha256(sent.encode()).hexdigest()[:40]}")
    text = message.text()
    used = run_with(access.workspace, key.text)
    conversation = _conversation(access, agent, message, used)
    kept = {"messageId": message.message_id, "metadata": message.metadata}
    return start(access, conversation.agent, text, conversation=conversation, client=kept, key=key)


def _conversation(
    access: Access, agent: str, message: SentMessage, used: UUID | None
) -> Conversation:
    """Return the conversation that a message names, that it has begun before, or a new one."""
    if message.context_id:
        found = find_conversation(access, message.context_id, lock=True)
        if found.origin or agent not in ("", found.agent):
            raise A2AError(INVALID_PARAMS, f"The context is one with the agent {found.agent}.")
        return found
    before = None if used is None else Run.objects.select_related("conversation").get(pk=used)
    if before is not None and before.conversation is not None:
        return before.conversation
    by = starter_of(access)
    return start_conversation(access.workspace, agent=agent or ORCHESTRATOR, by=by)
