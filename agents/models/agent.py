"""Editable definition of an agent, and its tool bindings."""

from __future__ import annotations

from functools import partial

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from agents.choices import (
    AgentApproval,
    BindingApproval,
    ExecutionMode,
    MixedData,
    ReasoningEffort,
    UncertainCalls,
)
from agents.definitions.columns import column
from agents.definitions.spec import AgentSpec, ToolGrant
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import one_of, unique

_agent = partial(column, AgentSpec)
_grant = partial(column, ToolGrant)
_LIST = Value([], models.JSONField())


def unlimited() -> dict[str, str]:
    """Return the default context strategy: the whole conversation."""
    return {"type": "unlimited"}


class Agent(models.Model):
    """A language model with a prompt, tools and limits.

    Saving one in the admin publishes an immutable ``AgentVersion``; runs are pinned to versions.

    Columns have defaults in the database as well: during a rolling deployment the previous
    version still writes rows.

    Attributes:
        kind: Name of its kind (``agents.definitions.kinds``), which it keeps.
        definition: Settings specific to the kind, which have no column.
        origin: Digest of the configuration file or Python program that defines the agent; such
            agents are hidden in the admin. Empty: the agent is edited in this installation.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(
        max_length=64,
        validators=[
            RegexValidator(
                r"^[a-z][a-z0-9_-]*$",
                "Use lower-case letters, digits, - and _; begin with a letter.",
            )
        ],
        help_text=AgentSpec.model_fields["name"].description or "",
    )
    kind = models.CharField(max_length=16, default="agent", db_default="agent", editable=False)
    definition = models.JSONField(
        default=dict, db_default=Value({}, models.JSONField()), blank=True, editable=False
    )
    description = models.CharField(max_length=300, blank=True, **_agent("description"))
    system_prompt = models.TextField(**_agent("system_prompt"))
    model = models.CharField(max_length=200, **_agent("model"))
    temperature = models.FloatField(null=True, blank=True, **_agent("temperature"))
    stop = models.JSONField(default=list, db_default=_LIST, **_agent("stop"))
    reasoning_effort = models.CharField(
        max_length=8, choices=ReasoningEffort.choices, **_agent("reasoning_effort")
    )
    fallback_models = models.JSONField(default=list, db_default=_LIST, **_agent("fallback_models"))
    strong_model = models.CharField(max_length=200, **_agent("strong_model"))
    skills = models.JSONField(default=list, db_default=_LIST, **_agent("skills"))
    max_retries = models.PositiveIntegerField(**_agent("max_retries"))
    retry_base_delay_ms = models.PositiveIntegerField(**_agent("retry_base_delay_ms"))
    retry_max_delay_ms = models.PositiveIntegerField(**_agent("retry_max_delay_ms"))
    max_tokens = models.PositiveIntegerField(**_agent("max_tokens"))
    max_turns = models.PositiveIntegerField(**_agent("max_turns"))
    timeout_seconds = models.PositiveIntegerField(**_agent("timeout_seconds"))
    tool_timeout_seconds = models.PositiveIntegerField(**_agent("tool_timeout_seconds"))
    max_tool_output_bytes = models.PositiveIntegerField(**_agent("max_tool_output_bytes"))
    context_strategy = models.JSONField(
        default=unlimited,
        db_default=Value(unlimited(), models.JSONField()),
        **_agent("context_strategy"),
    )
    response_schema = models.JSONField(null=True, blank=True, **_agent("response_schema"))
    approval = models.CharField(max_length=8, choices=AgentApproval.choices, **_agent("approval"))
    approval_timeout_seconds = models.PositiveIntegerField(
        null=True, blank=True, **_agent("approval_timeout_seconds")
    )
    uncertain_calls = models.CharField(
        max_length=16, choices=UncertainCalls.choices, **_agent("uncertain_calls")
    )
    mixed_data = models.CharField(max_length=8, choices=MixedData.choices, **_agent("mixed_data"))
    execution_mode = models.CharField(
        max_length=8, choices=ExecutionMode.choices, **_agent("execution_mode")
    )
    code_mode = models.BooleanField(**_agent("code_mode"))
    memory = models.BooleanField(**_agent("memory"))
    memory_weights = models.JSONField(
        default=dict, db_default=Value({}, models.JSONField()), **_agent("memory_weights")
    )
    memory_tokens = models.PositiveIntegerField(**_agent("memory_tokens"))
    extract_memories = models.BooleanField(**_agent("extract_memories"))
    extraction_model = models.CharField(max_length=200, **_agent("extraction_model"))
    max_run_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, **_agent("max_run_tokens")
    )
    max_run_cost_usd = models.DecimalField(
        max_digits=12,
        decimal_places=4,
        null=True,
        blank=True,
        **_agent("max_run_cost_usd", MinValueValidator(0)),
    )
    max_runs_per_minute = models.PositiveIntegerField(
        null=True, blank=True, **_agent("max_runs_per_minute")
    )
    team = models.ManyToManyField(
        "self",
        symmetrical=False,
        blank=True,
        related_name="orchestrators",
        help_text=AgentSpec.model_fields["team"].description or "",
    )
    max_parallel = models.PositiveIntegerField(**_agent("max_parallel"))
    delegation_timeout_seconds = models.PositiveIntegerField(**_agent("delegation_timeout_seconds"))
    queue = models.CharField(
        max_length=64,
        **_agent(
            "queue",
            RegexValidator(r"^[a-z][a-z0-9_.-]*$", "Use lower-case letters, digits, . - and _."),
        ),
    )
    enabled = models.BooleanField(**_agent("enabled"))
    review = models.CharField(max_length=160, **_agent("review"))
    review_timeout_seconds = models.PositiveIntegerField(
        null=True, blank=True, **_agent("review_timeout_seconds")
    )
    review_escalate_after_minutes = models.PositiveIntegerField(
        null=True, blank=True, **_agent("review_escalate_after_minutes")
    )
    enabled_at = models.DateTimeField(db_default=Now(), editable=False)
    origin = models.CharField(max_length=16, blank=True, default="", db_default="", editable=False)
    current_version = models.ForeignKey(
        "AgentVersion",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.RESTRICT,
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique("agent_name_in_workspace", "workspace", "origin", "name"),
            one_of("approval", AgentApproval.values, name="agent_approval_known"),
            one_of("uncertain_calls", UncertainCalls.values, name="agent_uncertain_known"),
            one_of("mixed_data", MixedData.values, name="agent_mixed_data_known"),
            one_of("execution_mode", ExecutionMode.values, name="agent_execution_mode_known"),
        ]

    def __str__(self) -> str:
        return self.name


class ToolBinding(models.Model):
    """A tool available to an agent, with its approval policy and default arguments."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="bindings")
    tool = models.CharField(max_length=64, **_grant("name"))
    enabled = models.BooleanField(**_grant("enabled"))
    approval = models.CharField(max_length=8, choices=BindingApproval.choices, **_grant("approval"))
    approval_when = models.JSONField(null=True, blank=True, **_grant("approval_when"))
    approval_timeout_seconds = models.PositiveIntegerField(
        null=True, blank=True, **_grant("approval_timeout_seconds")
    )
    required_approvals = models.PositiveSmallIntegerField(**_grant("required_approvals"))
    approver_group = models.CharField(max_length=150, **_grant("approver_group"))
    escalate_after_minutes = models.PositiveIntegerField(
        null=True, blank=True, **_grant("escalate_after_minutes")
    )
    escalation_group = models.CharField(max_length=150, **_grant("escalation_group"))
    defaults = models.JSONField(
        default=dict, db_default=Value({}, models.JSONField()), **_grant("defaults")
    )
    credentials = models.JSONField(
        default=dict, db_default=Value({}, models.JSONField()), **_grant("credentials")
    )
    timeout_seconds = models.PositiveIntegerField(
        "time limit", null=True, blank=True, **_grant("timeout_seconds")
    )
    requires = models.CharField(max_length=150, **_grant("requires"))
    knowledge_bases = models.JSONField(
        default=list, db_default=Value([], models.JSONField()), **_grant("knowledge_bases")
    )

    class Meta:
        ordering = ["tool"]
        constraints = [
            unique("tool_once_per_agent", "agent", "tool"),
            models.CheckConstraint(
                name="binding_rule_iff_when",
                condition=Q(approval="when", approval_when__isnull=False)
                | (~Q(approval="when") & Q(approval_when__isnull=True)),
            ),
        ]

    def __str__(self) -> str:
        return self.tool
