"""Exceptions of agents and runs."""

from __future__ import annotations

from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError


class LeaseLostError(HeartbitError):
    """Another worker has claimed this run; the former holder can write nothing more."""


class ProgramToolsError(ConflictError):
    """A run needs a tool that only the Python program that defines its agent has."""


class StateEntryNotFoundError(NotFoundError):
    """The state store has no live entry of that key in that scope."""


class StateFullError(ConflictError):
    """The state store of the workspace has no room for another entry."""


class JournalAwayError(HeartbitError):
    """A journal write failed: its outcome is unknown until the database is back."""


class AgentNotFoundError(NotFoundError):
    """There is no agent of that name in the workspace."""


class AgentsChangedError(ConflictError):
    """Agents are no longer as the caller has read them."""


class SubAgentUnavailableError(AgentNotFoundError):
    """A sub-agent was deleted or stopped after the model was offered it."""

    def __init__(self, message: str, agent: str) -> None:
        super().__init__(message)
        self.agent = agent


class RunNotFoundError(NotFoundError):
    """There is no run with that id in the workspace."""


class UnknownToolError(NotFoundError):
    """The installation has no tool of that name."""


class SkillNotFoundError(NotFoundError):
    """The workspace or the agent has no such skill, or the skill no such file."""


class ShippedSkillError(ConflictError):
    """A skill that ships with Heartbit cannot be changed."""


class SkillInUseError(ConflictError):
    """Agents have the skill, so it cannot be removed."""


class FolderError(HeartbitError):
    """The folder of a run has no such file, or no room for one."""


class UnseenPicturesError(HeartbitError):
    """The agent's model, or a workflow, takes no pictures."""


class ArtifactRefusedError(HeartbitError):
    """There is no room for an artifact."""


class ArtifactNotFoundError(NotFoundError):
    """The run has no artifact of that name."""


class WorkFileNotFoundError(NotFoundError):
    """The run's folder has no file of that path."""


class EmptyTaskError(HeartbitError):
    """The task of a run, or the text of a message, is empty."""


class IdempotencyMismatchError(ConflictError):
    """The idempotency key was used for another request."""


class ConversationBusyError(ConflictError):
    """The conversation's last message is still being answered, so no other is accepted."""


class CallClosedError(ConflictError):
    """The call was decided by someone else, or its run has ended."""


class InvalidEditError(HeartbitError):
    """A person's edited arguments do not fit the tool."""


class DryRunUnavailableError(HeartbitError):
    """The call cannot be tried: the tool does not support it, or the caller lacks a right."""


class DryRunStoppedError(ConflictError):
    """A dry run took too long or conflicted with other writes; it was rolled back."""


class RunStateError(ConflictError):
    """The run's state does not allow the action."""


class HaltedError(ConflictError):
    """The workspace, or everything, is stopped: no run starts."""


class StoppedByOperatorError(HeartbitError):
    """An operator placed the stop: the workspace's managers cannot end it."""


class WebhookNotFoundError(NotFoundError):
    """The workspace has no such webhook, or the webhook no such delivery."""


class TooManyWebhooksError(ConflictError):
    """The workspace has reached the limit of webhooks."""


class DeliveryStateError(ConflictError):
    """The message is being delivered already, or its webhook is disabled."""


class InvalidTargetsError(HeartbitError):
    """The targets of a result are not valid or lead elsewhere."""


class DeliveryNotFoundError(NotFoundError):
    """The workspace has no such delivery of a result."""


class RecipientError(HeartbitError):
    """The address, or the text for it, cannot be used for a message."""


class MessageLimitReachedError(ConflictError):
    """Too many messages between agents in a row or per minute."""


class UnknownMessageError(NotFoundError):
    """The message does not exist or belongs to someone else."""


class SubAgentError(HeartbitError):
    """A sub-agent cannot start other agents: the hierarchy is flat."""


class NotNowError(HeartbitError):
    """A run cannot start now, but may later.

    Attributes:
        seconds: Seconds until it may.
    """

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class ModelUnreachableError(NotNowError):
    """No model that the agent may ask answers."""


class NoSandboxError(NotNowError):
    """The agent runs code, and where it would run there is no sandbox."""


class QuotaExceededError(NotNowError):
    """The workspace has reached a limit on starting runs."""


class TooManyRunsError(QuotaExceededError):
    """The agent has reached its limit of runs per minute."""


class ChannelNotFoundError(NotFoundError):
    """The workspace has no such channel."""


class ChannelConflictError(ConflictError):
    """The channel's name is taken, or the workspace has reached the limit of channels."""


class ChannelClosedError(ConflictError):
    """The channel is disabled."""


class ChatAppNotFoundError(NotFoundError):
    """The workspace has no such chat app."""


class ChatAppConflictError(ConflictError):
    """The chat app's name is taken, or the workspace has reached the limit of chat apps."""


class InvalidSignatureError(HeartbitError):
    """The message is not signed with the channel's secret, or its time is not current."""


class InvalidMappingError(HeartbitError):
    """The mapping of a channel is not valid."""


class MissingFieldError(HeartbitError):
    """A message lacks a field that its channel's mapping requires."""


class MessageTooLongError(HeartbitError):
    """A message makes a task that is too long."""


class TooManyMessagesError(QuotaExceededError):
    """The channel has reached its limit of messages per hour."""
