"""Stored values of the agents app, with their named sets."""

from __future__ import annotations

from django.db import models


class RunStatus(models.TextChoices):
    """Statuses of a run; the transitions are in ``agents.runs.transitions`` alone."""

    QUEUED = "queued", "Queued"  # may be claimed when due
    RUNNING = "running", "Running"  # a worker holds its lease
    WAITING = "waiting", "Waiting"  # holds no worker; open waits keep it here
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    QUARANTINED = "quarantined", "Quarantined"  # its workers crashed too often


LIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING})
TERMINAL = frozenset(
    {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.QUARANTINED}
)


class RunKind(models.TextChoices):
    """Kinds of run; ``agents.definitions.kinds`` has the parts of each."""

    AGENT = "agent", "Agent"
    TOOL_CALL = "tool_call", "Tool call"
    EXTRACTION = "extraction", "Extraction of memories"
    WORKFLOW = "workflow", "Workflow"


class Placement(models.TextChoices):
    """Executors of a run: the worker fleet, one local process and its successors, or no one."""

    FLEET = "fleet", "Fleet"
    LOCAL = "local", "Local"
    RESTORED = "restored", "Held since a restore"  # until a person releases it


class CallStatus(models.TextChoices):
    """Statuses of a tool call."""

    PENDING = "pending", "Pending"
    STARTED = "started", "Started"  # intent committed; the outcome is not known yet
    WAITING = "waiting", "Waiting"
    OK = "ok", "OK"
    ERROR = "error", "Error"
    TIMEOUT = "timeout", "Timed out"
    INVALID = "invalid", "Invalid arguments"
    REFUSED = "refused", "Refused"
    CANCELLED = "cancelled", "Cancelled"  # its run ended first
    UNCERTAIN = "uncertain", "Uncertain"  # its worker crashed between intent and result


class AgentApproval(models.TextChoices):
    """Tool calls of an agent that need an approval."""

    NEVER = "never", "None"
    EFFECTS = "effects", "Calls with external effects"  # every effect class but pure
    ALWAYS = "always", "All"


class BindingApproval(models.TextChoices):
    """Calls of one tool of an agent that need an approval; empty: the agent's own setting."""

    NEVER = "never", "None"
    ALWAYS = "always", "All"
    WHEN = "when", "Calls whose arguments match the rule"


class UncertainCalls(models.TextChoices):
    """Policies for at-most-once calls whose worker crashed before the result was recorded."""

    ASK_HUMAN = "ask_human", "Ask a person"
    TELL_MODEL = "tell_model", "Tell the model and continue"
    RETRY = "retry", "Repeat the call"


class MixedData(models.TextChoices):
    """Policies for calls that send data out once private data and outsiders' text were read."""

    ASK = "ask", "Ask a person"
    ALLOW = "allow", "Allow"


class ExecutionMode(models.TextChoices):
    """Running of code that an answer shows."""

    NEVER = "never", "Never"
    ALWAYS = "always", "Always"
    AUTO = "auto", "Where the answer says [EXECUTE]"
    TASK = "task", "If the task asks for it"


class BudgetPeriod(models.TextChoices):
    """Periods of a budget; they begin at midnight UTC."""

    DAY = "day", "Day"
    MONTH = "month", "Month"


class ReasoningEffort(models.TextChoices):
    """Reasoning efforts of a model; empty: the provider's default."""

    NONE = "none", "None"
    LOW = "low", "Low"
    MEDIUM = "medium", "Medium"
    HIGH = "high", "High"


class Verdict(models.TextChoices):
    """Decisions of a person about a call."""

    APPROVED = "approved", "Approved"
    EDITED = "edited", "Approved with other arguments"
    ANSWERED = "answered", "Answered"
    DENIED = "denied", "Denied"


class CallResolution(models.TextChoices):
    """Resolutions of an uncertain call by a person."""

    RETRIED = "retried", "Retried"
    CONFIRMED = "confirmed", "Confirmed"
    SKIPPED = "skipped", "Skipped"


#: Verdicts after which a call runs.
ALLOWING_VERDICTS = (Verdict.APPROVED, Verdict.EDITED, Verdict.ANSWERED)
VERDICTS = [*Verdict.values, *CallResolution.values]


class BusyPolicy(models.TextChoices):
    """Policies for a message to a conversation that has an active run."""

    REJECT = "reject", "Reject"
    QUEUE = "queue", "Queue"
    INTERRUPT = "interrupt", "Cancel the active run"
    STEER = "steer", "Steer the active run"


class DeliveryStatus(models.TextChoices):
    """Statuses of a webhook message or of a result's delivery."""

    PENDING = "pending", "Pending"  # due at its time, if its endpoint is enabled
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"  # given up


class DeliveryKind(models.TextChoices):
    """Ways to deliver a run's result."""

    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"
    ARTIFACT = "artifact", "Artifact"
    DRIVE = "drive", "Drive"


class StateScope(models.TextChoices):
    """Runs that share an entry of the state store."""

    AGENT = "agent", "Agent"
    CONVERSATION = "conversation", "Conversation"
    WORKSPACE = "workspace", "Workspace"


class ChannelKind(models.TextChoices):
    """Kinds of inbound channel."""

    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"


class ChatKind(models.TextChoices):
    """Chat services that members can be asked in."""

    SLACK = "slack", "Slack"


class MailSecurity(models.TextChoices):
    """Encryption of the connection to a mail server."""

    TLS = "tls", "TLS"
    STARTTLS = "starttls", "STARTTLS"
    NONE = "none", "None"


class InboundStatus(models.TextChoices):
    """Statuses of an inbound message."""

    ACCEPTED = "accepted", "Accepted"
    REFUSED = "refused", "Refused"


class HealthFigure(models.TextChoices):
    """Figure of a workspace in a span of time, for pages and alerts."""

    QUEUE_DELAY_P50 = "queue_delay_p50", "Queue delay, median"
    QUEUE_DELAY_P95 = "queue_delay_p95", "Queue delay, 95th percentile"
    RUNS = "runs", "Runs"
    FAILURES = "failures", "Failed runs"
    FAILURE_RATE = "failure_rate", "Failed runs, in percent"
    COST = "cost", "Cost in US dollars"


class Comparison(models.TextChoices):
    """Side of its threshold on which a figure raises an alert."""

    ABOVE = "above", "Above"
    BELOW = "below", "Below"
