"""The words a run's rows may hold, with their named sets."""

from __future__ import annotations

from django.db import models


class RunStatus(models.TextChoices):
    """Where a run is. Transitions are in ``agents.runs.transitions``, nowhere else."""

    QUEUED = "queued", "Queued"  # may be claimed when due
    RUNNING = "running", "Running"  # a worker holds its lease
    WAITING = "waiting", "Waiting"  # holds no worker; open waits keep it here
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    QUARANTINED = "quarantined", "Quarantined"  # killed its workers too often


LIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING})
TERMINAL = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.QUARANTINED}
)


class RunKind(models.TextChoices):
    """Kinds of run; ``agents.runtime.engines`` has the engine of each."""

    AGENT = "agent", "Agent"
    TOOL_CALL = "tool_call", "Tool call"


class Placement(models.TextChoices):
    """Who may execute a run: the worker fleet, or one local process (and its heirs)."""

    FLEET = "fleet", "Fleet"
    LOCAL = "local", "Local"


class CallStatus(models.TextChoices):
    """Where a tool call is."""

    PENDING = "pending", "Pending"
    STARTED = "started", "Started"  # intent committed; the outcome is not known yet
    WAITING = "waiting", "Waiting"
    OK = "ok", "OK"
    ERROR = "error", "Error"
    TIMEOUT = "timeout", "Timed out"
    INVALID = "invalid", "Invalid arguments"
    REFUSED = "refused", "Refused"
    CANCELLED = "cancelled", "Cancelled"  # its run ended first
    UNCERTAIN = "uncertain", "Uncertain"  # its worker died between intent and result


class AgentApproval(models.TextChoices):
    """Which tool calls of an agent wait for a person."""

    NEVER = "never", "None"
    EFFECTS = "effects", "Those with an effect outside"  # every effect class but pure
    ALWAYS = "always", "All"


class BindingApproval(models.TextChoices):
    """Which calls of one tool of an agent wait for a person; empty: as the agent says."""

    NEVER = "never", "None"
    ALWAYS = "always", "All"
    WHEN = "when", "Those whose arguments fit the rule"


class UncertainCalls(models.TextChoices):
    """What follows when a worker died while an at-most-once call ran, so that nobody knows."""

    ASK_HUMAN = "ask_human", "Ask a person"
    TELL_MODEL = "tell_model", "Tell the model, and go on"
    RETRY = "retry", "Make the call again"


class BudgetPeriod(models.TextChoices):
    """How long a budget has to last; periods begin at midnight UTC."""

    DAY = "day", "Day"
    MONTH = "month", "Month"


class ReasoningEffort(models.TextChoices):
    """How long a reasoning model thinks; empty: the provider's default."""

    NONE = "none", "Not at all"
    LOW = "low", "Low"
    MEDIUM = "medium", "Medium"
    HIGH = "high", "High"


class Verdict(models.TextChoices):
    """What a person decided about a call."""

    APPROVED = "approved", "Approved"
    EDITED = "edited", "Approved with other arguments"
    ANSWERED = "answered", "Answered"
    DENIED = "denied", "Denied"


class CallResolution(models.TextChoices):
    """What a person says about a call whose effect is unknown."""

    RETRIED = "retried", "Make it again"
    CONFIRMED = "confirmed", "It took effect"
    SKIPPED = "skipped", "Leave it"


#: After which a call runs.
ALLOWING_VERDICTS = (Verdict.APPROVED, Verdict.EDITED, Verdict.ANSWERED)
VERDICTS = [*Verdict.values, *CallResolution.values]


class BusyPolicy(models.TextChoices):
    """What becomes of a message to a conversation whose last one is still worked on."""

    REJECT = "reject", "Refuse it"
    QUEUE = "queue", "Answer it afterwards"
    INTERRUPT = "interrupt", "Cancel the run under way and answer it"
    STEER = "steer", "Give it to the run under way"


class DeliveryStatus(models.TextChoices):
    """How far a webhook's message, or a result, has got."""

    PENDING = "pending", "Pending"  # due at its time, if its endpoint is enabled
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"  # given up


class DeliveryKind(models.TextChoices):
    """How a run's result reaches somebody."""

    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"
    ARTIFACT = "artifact", "Artifact"


class ChannelKind(models.TextChoices):
    """What comes in by a channel."""

    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"


class MailSecurity(models.TextChoices):
    """How the way to a mailbox is kept private."""

    TLS = "tls", "TLS"
    STARTTLS = "starttls", "STARTTLS"
    NONE = "none", "None"


class InboundStatus(models.TextChoices):
    """What became of a message from outside."""

    ACCEPTED = "accepted", "Accepted"
    REFUSED = "refused", "Refused"
