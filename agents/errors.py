"""What can go wrong with agents and runs."""

from __future__ import annotations

from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError


class LeaseLostError(HeartbitError):
    """Another worker has this run now; its former holder can write nothing more."""


class JournalAwayError(HeartbitError):
    """The journal could not be written: whether it was is unknown until the database is back."""


class AgentNotFoundError(NotFoundError):
    """There is no agent of that name in the workspace."""


class SubAgentUnavailableError(AgentNotFoundError):
    """A sub-agent was deleted or stopped since the model was offered it.

    Attributes:
        agent: Its name.
    """

    def __init__(self, message: str, agent: str) -> None:
        super().__init__(message)
        self.agent = agent


class RunNotFoundError(NotFoundError):
    """There is no run with that id in the workspace."""


class UnknownToolError(NotFoundError):
    """The installation has no tool of that name."""


class ArtifactNotFoundError(NotFoundError):
    """The run has no artifact of that name."""


class EmptyTaskError(HeartbitError):
    """A run needs something to do."""


class ConversationBusyError(ConflictError):
    """The conversation's last message is still worked on, and this one cannot be taken now."""


class CallClosedError(ConflictError):
    """Somebody, or something, was quicker: the call is decided, or its run has ended."""


class InvalidEditError(HeartbitError):
    """The arguments that a person wrote for a call do not fit the tool."""


class DryRunUnavailableError(HeartbitError):
    """The call cannot be tried: of its tool, or of who asks, more is wanted."""


class DryRunStoppedError(ConflictError):
    """A dry run took too long, or met others that work on the same; it is undone."""


class RunStateError(ConflictError):
    """The run's state does not allow this."""


class HaltedError(ConflictError):
    """An operator stopped the workspace, or everything: no run starts."""


class StoppedByOperatorError(HeartbitError):
    """An operator placed the stop: whoever manages the workspace cannot end it."""


class WebhookNotFoundError(NotFoundError):
    """The workspace has no such webhook, or the webhook no such delivery."""


class TooManyWebhooksError(ConflictError):
    """The workspace has as many webhooks as it may."""


class DeliveryStateError(ConflictError):
    """The message is on its way already, or its webhook is disabled."""


class InvalidTargetsError(HeartbitError):
    """What was given as targets of a result is none, or leads somewhere else."""


class DeliveryNotFoundError(NotFoundError):
    """The workspace has no such delivery of a result."""


class MailServerError(HeartbitError):
    """The mail server cannot be used now: that says nothing of the mail."""


class RecipientError(HeartbitError):
    """Nobody can be written to at the address."""


class UnreadableMailError(HeartbitError):
    """The bytes are no mail, or one with more parts than any mail has."""


class MailboxError(HeartbitError):
    """A mailbox cannot be read now, or not as it is described."""


class MessageLimitReachedError(ConflictError):
    """Messages go round between agents, or come too fast."""


class UnknownMessageError(NotFoundError):
    """There is no such message, or it is somebody else's."""


class SubAgentError(HeartbitError):
    """A sub-agent hands no work on: the hierarchy is flat."""


class QuotaExceededError(HeartbitError):
    """A workspace has started as many runs as it may for now.

    Attributes:
        seconds: After these it may start more.
    """

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooManyRunsError(QuotaExceededError):
    """An agent has been given as many runs as it takes in a minute."""


class ChannelNotFoundError(NotFoundError):
    """The workspace has no such channel."""


class ChannelConflictError(ConflictError):
    """The workspace has a channel of that name, or as many as it may."""


class ChannelClosedError(ConflictError):
    """The channel is disabled."""


class InvalidSignatureError(HeartbitError):
    """A message is not signed by whoever has a channel's secret, or not now."""


class InvalidMappingError(HeartbitError):
    """What was given as a channel's mapping is none."""


class MissingFieldError(HeartbitError):
    """A message lacks a field that its channel's mapping asks for."""


class MessageTooLongError(HeartbitError):
    """A message makes a task that is too long."""


class TooManyMessagesError(QuotaExceededError):
    """A channel has taken as many messages as it may within an hour."""
