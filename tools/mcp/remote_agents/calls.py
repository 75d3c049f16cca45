"""One call of a remote agent: send the message once, then wait without a worker for its task.

A call is carried on by several executions. Each looks at the task and either returns the result or
suspends the run until a later look, or until a person has answered what the agent asks; the journal
has what the next one needs (``CallProgress``). A message has an id that is derived from the call,
so an execution that is repeated after a crash sends the message with the same id.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from heartbit_site.base import orm
from heartbit_site.base.suspensions import QUESTION, REMOTE, Question, QuestionReply, Suspension
from heartbit_site.base.toolspec import ToolContext
from tools.definitions.registry import definition_hash
from tools.mcp.endpoints import PinnedTool
from tools.mcp.errors import changed_error
from tools.mcp.listing import definition
from tools.mcp.remote_agents.client import (
    RemoteAgent,
    RemoteAgentConnectionError,
    RemoteAgentError,
    load_card,
)
from tools.mcp.remote_agents.tasks import ASKING, ENDED, RemoteTask, SentAnswer
from tools.models import McpServer, RemoteAgentTask

#: Time after which an unfinished task is given up, and cancelled.
LONGEST_SECONDS: Final = 7 * 86_400.0
REPLY_SECONDS: Final = 24 * 3600.0
MOST_QUESTIONS: Final = 20
#: The pause before the next look is this part of the time that the task took so far.
_PART: Final = 0.2
_PAUSES: Final = (1.0, 900.0)
_MOST_ASKED: Final = 2_000  # characters
_DONE, _GIVE_UP = "done", "give up"
_AUTHORISED: Final[dict[str, Any]] = {"type": "string", "enum": [_DONE, _GIVE_UP]}
_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 20_000}


@dataclass(frozen=True, slots=True)
class CallProgress:
    """Progress of a call.

    Attributes:
        task: Id of the task, given by the agent.
        context: Id of its context; empty: none.
        url: Address that the message was sent to; ``tenant`` likewise.
        since: Time of the first message, in seconds since the epoch.
        asked: Number of questions that people were asked.
        asking: State in which the task asked the last question; empty: no question is open.
        mark: Mark of the status that asked it.
        answer: Answer that is still to be sent; None: none.
        refused: Why the agent refused the last answer; empty: it did not.
    """

    task: str
    context: str
    url: str
    tenant: str
    since: float
    asked: int = 0
    asking: str = ""
    mark: str = ""
    answer: Any = None
    refused: str = ""

    def text(self) -> str:
        """Return it for the journal."""
        return json.dumps(asdict(self))

    def wait(self) -> Suspension:
        """Return the pause before the next look at the task."""
        pause = (time.time() - self.since) * _PART
        return Suspension((), min(max(pause, _PAUSES[0]), _PAUSES[1]), REMOTE, state=self.text())


async def call_remote_agent(
    agent: RemoteAgent, tool: PinnedTool, arguments: dict[str, Any], context: ToolContext
) -> str | Suspension:
    """Begin or carry on a call; return the result of the agent's task, or what the run waits for.

    Raises:
        McpError: The agent cannot be used, or its task did not succeed.
    """
    if context.reply is None:
        return await _begin(agent, tool, arguments, context)
    before = CallProgress(**json.loads(context.reply.state))
    agent = replace(agent, url=before.url, tenant=before.tenant)
    progress = _replied(agent, before, context.reply)
    try:
        if progress.answer is not None:
            task = await _send(agent, [_part(progress.answer)], context, progress)
            progress = replace(progress, answer=None)
        else:
            task = await _get(agent, progress)
    except RemoteAgentConnectionError:
        if time.time() - progress.since > LONGEST_SECONDS:
            raise
        return progress.wait()
    except RemoteAgentError as error:
        if progress.answer is None:
            raise
        # The answer does not fit, or others have answered meanwhile: it may ask again.
        progress = replace(progress, answer=None, mark="", refused=str(error))
        return progress.wait()
    return task if isinstance(task, str) else await _look(agent, task, context, progress)


async def _get(agent: RemoteAgent, progress: CallProgress) -> RemoteTask:
    try:
        return RemoteTask.model_validate(await agent.ask("GetTask", {"id": progress.task}))
    except ValidationError:
        raise agent.error("returned a task that violates the protocol") from None


def _part(answer: Any) -> dict[str, Any]:
    return {"text": answer} if isinstance(answer, str) else {"data": answer}


async def _begin(
    agent: RemoteAgent, tool: PinnedTool, arguments: dict[str, Any], context: ToolContext
) -> str | Suspension:
    parts = [{"text": arguments["message"]}] if arguments.get("message") else []
    parts += [{"data": arguments["data"]}] if arguments.get("data") else []
    if not parts:
        raise ValueError("The remote agent needs a message, or data.")
    agent, offer, _ = await load_card(agent)
    [found] = offer.tools.values()
    offered = definition(found, name=tool.name, effect=tool.effect)
    if definition_hash(offered) != tool.hash:
        rows = McpServer.objects.filter(pk=agent.endpoint.id, needs_refresh=False)
        await orm.run_in_thread(partial(rows.update, needs_refresh=True))
        raise changed_error(agent.endpoint.name, tool.name)
    progress = CallProgress("", "", agent.url, agent.tenant, time.time())
    task = await _send(agent, parts, context, progress)
    return task if isinstance(task, str) else await _look(agent, task, context, progress)


def _replied(agent: RemoteAgent, progress: CallProgress, reply: QuestionReply) -> CallProgress:
    """Return the progress with a person's reply to the open question, if there is one."""
    if not progress.asking:
        return progress
    is_about_rights = progress.asking == "AUTH_REQUIRED"
    if reply.value is None or (is_about_rights and reply.value == _GIVE_UP):
        raise agent.error("asked a question that was not answered, so its task is given up")
    return replace(progress, asking="", answer=None if is_about_rights else reply.value)


async def _send(
    agent: RemoteAgent, parts: list[dict[str, Any]], context: ToolContext, progress: CallProgress
) -> RemoteTask | str:
    """Send a message; return the task, or the text of an agent that answers without one."""
    sent = uuid5(NAMESPACE_URL, f"heartbit:{context.idempotency_key}:{progress.asked}")
    message = {"messageId": str(sent), "role": "ROLE_USER", "parts": parts}
    message |= {"taskId": progress.task} if progress.task else {}
    message |= {"contextId": progress.context} if progress.context else {}
    wishes = {"configuration": {"returnImmediately": True}}
    try:
        found = SentAnswer.model_validate(
            await agent.ask("SendMessage", {"message": message, **wishes})
        )
    except ValidationError:
        raise agent.error("answered a message with what violates the protocol") from None
    return found.result() if found.task is None else found.task


async def _look(
    agent: RemoteAgent, task: RemoteTask, context: ToolContext, progress: CallProgress
) -> str | Suspension:
    """Return what follows from the state of a task."""
    progress = replace(progress, task=task.id, context=task.context_id)
    if task.state in ENDED:
        await orm.run_in_thread(partial(_forget, context.run_id, context.call_id))
        if task.state == "COMPLETED":
            return task.result()
        said = task.said() or "it gave no reason"
        raise agent.error(f"ended its task as {task.state.lower()}: {said[:_MOST_ASKED]}")
    await orm.run_in_thread(partial(_remember, agent.endpoint.id, context, progress))
    if time.time() - progress.since > LONGEST_SECONDS:
        raise agent.error("did not finish its task within 7 days, so it is cancelled")
    if task.state not in ASKING or task.mark == progress.mark:
        return progress.wait()
    if progress.asked >= MOST_QUESTIONS:
        raise agent.error(f"asked {MOST_QUESTIONS} questions in one call, which is the limit")
    asked = replace(progress, asked=progress.asked + 1, asking=task.state, mark=task.mark)
    verb, form = "asks", task.form() or _TEXT
    if task.state == "AUTH_REQUIRED":
        verb, form = "waits until people there have authorised it", _AUTHORISED
    text = f"{asked.refused} The remote agent {agent.endpoint.name} {verb}: {task.said()}".strip()
    question = Question(text[:_MOST_ASKED], form, replace(asked, refused="").text())
    return Suspension((), REPLY_SECONDS, QUESTION, question)


def _remember(server_id: int, context: ToolContext, progress: CallProgress) -> None:
    """Store the task of a call, so that it is cancelled if the call ends without it."""
    place = {"url": progress.url, "tenant": progress.tenant, "user_id": context.user_id}
    RemoteAgentTask.objects.get_or_create(
        run_id=context.run_id,
        call_id=context.call_id,
        defaults={"server_id": server_id, "task": progress.task, **place},
    )


def _forget(run_id: UUID, call_id: str) -> None:
    RemoteAgentTask.objects.filter(run_id=run_id, call_id=call_id).delete()
