"""What people edit: an agent, and the tools it is given."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from agents.choices import AgentApproval, BindingApproval, ReasoningEffort, UncertainCalls
from heartbit_site.base.models import Workspace


def unlimited() -> dict[str, str]:
    """The context strategy of an agent that names none."""
    return {"type": "unlimited"}


class Agent(models.Model):
    """A language model with a prompt, tools and limits.

    Saving one in the admin publishes an immutable ``AgentVersion``; runs are pinned to versions.

    Columns added since have defaults in the database too: in a rolling deploy the former version
    still writes rows.

    Attributes:
        origin: Empty for what people edit here; else the digest of the configuration file, or of
            the Python program, that brought it: such agents never show in the admin.
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
        help_text="How people and other agents call it, e.g. researcher.",
    )
    description = models.CharField(
        max_length=300,
        blank=True,
        help_text="One sentence. An orchestrator reads it to decide whom to give a task.",
    )
    system_prompt = models.TextField(help_text="Who the agent is and how it should work.")
    model = models.CharField(
        max_length=200,
        blank=True,
        help_text="provider:model, e.g. openai:gpt-5. Empty: the installation's default.",
    )
    temperature = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(2)],
        help_text="0 is steady, 1 is lively. Empty: the provider's default.",
    )
    stop = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="Texts that end an answer: a JSON list of strings.",
    )
    reasoning_effort = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        choices=ReasoningEffort.choices,
        help_text="How long a reasoning model thinks. Empty: the provider's default.",
    )
    fallback_models = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="Asked in this order when the model fails: a JSON list of provider:model.",
    )
    strong_model = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=(
            "provider:model that takes over for the rest of a run once the agent's own model has "
            "given two answers in a row that do not do. Empty: none."
        ),
    )
    max_retries = models.PositiveIntegerField(
        default=3,
        db_default=3,
        validators=[MaxValueValidator(20)],
        help_text="How often a model call that failed is repeated.",
    )
    retry_base_delay_ms = models.PositiveIntegerField(
        default=500,
        db_default=500,
        help_text="Upper limit of the first pause; it doubles with each repetition.",
    )
    retry_max_delay_ms = models.PositiveIntegerField(
        default=30_000, db_default=30_000, help_text="Longest pause between two repetitions."
    )
    max_tokens = models.PositiveIntegerField(
        default=4096, validators=[MinValueValidator(1)], help_text="Limit on each answer."
    )
    max_turns = models.PositiveIntegerField(
        default=10, validators=[MinValueValidator(1)], help_text="Limit on model calls in one run."
    )
    timeout_seconds = models.PositiveIntegerField(
        default=600, validators=[MinValueValidator(1)], help_text="Limit on the time one run works."
    )
    tool_timeout_seconds = models.PositiveIntegerField(
        default=60, validators=[MinValueValidator(1)], help_text="Limit on one tool call."
    )
    max_tool_output_bytes = models.PositiveIntegerField(
        default=32_768,
        validators=[MinValueValidator(256)],
        help_text="Longer results are cut; the model is told.",
    )
    context_strategy = models.JSONField(
        default=unlimited,
        db_default=Value(unlimited(), models.JSONField()),
        help_text=(
            "What of a long conversation the model is sent, e.g. "
            '{"type": "sliding_window", "max_tokens": 100000}.'
        ),
    )
    response_schema = models.JSONField(
        null=True,
        blank=True,
        help_text="JSON Schema that the final answer has to fit. Empty: free text.",
    )
    approval = models.CharField(
        max_length=8,
        choices=AgentApproval.choices,
        default=AgentApproval.NEVER,
        db_default=AgentApproval.NEVER,
        help_text="Which of its tool calls wait for a person; a tool's own setting wins.",
    )
    approval_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "A call that nobody decides for so long is refused; a tool's own time wins. Empty: it "
            "waits for as long as it takes."
        ),
    )
    uncertain_calls = models.CharField(
        max_length=8,
        choices=UncertainCalls.choices,
        default=UncertainCalls.ASK,
        db_default=UncertainCalls.ASK,
        help_text="What follows when its worker died while a call with an effect outside ran.",
    )
    max_run_tokens = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Tokens one run may use, its sub-agents' included. Empty: no limit.",
    )
    max_run_cost_usd = models.DecimalField(
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=4,
        validators=[MinValueValidator(0)],
        help_text="What one run may cost, its sub-agents included. Empty: no limit.",
    )
    max_runs_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "Runs that may be started in a minute, not counting those that orchestrators give it. "
            "Empty: no limit."
        ),
    )
    team = models.ManyToManyField(
        "self",
        symmetrical=False,
        blank=True,
        related_name="orchestrators",
        help_text="Sub-agents it may delegate to. An agent with a team is an orchestrator.",
    )
    max_parallel = models.PositiveIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="How many sub-agents may work at once.",
    )
    delegation_timeout_seconds = models.PositiveIntegerField(
        default=600,  # as long as a sub-agent may work: models on a busy machine are slow
        validators=[MinValueValidator(1)],
        help_text="How long an orchestrator waits for its sub-agents.",
    )
    queue = models.CharField(
        max_length=64,
        default="agents",
        validators=[
            RegexValidator(r"^[a-z][a-z0-9_.-]*$", "Use lower-case letters, digits, . - _")
        ],
        help_text="The worker queue its runs go to.",
    )
    enabled = models.BooleanField(
        default=True, db_default=True, help_text="A stopped agent takes no new runs."
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
            models.UniqueConstraint(
                fields=["workspace", "origin", "name"], name="agent_name_in_workspace"
            ),
            models.CheckConstraint(
                name="agent_approval_known", condition=Q(approval__in=AgentApproval.values)
            ),
            models.CheckConstraint(
                name="agent_uncertain_known",
                condition=Q(uncertain_calls__in=UncertainCalls.values),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ToolBinding(models.Model):
    """A tool given to an agent: whether its calls wait for a person, and what it is told anyway."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="bindings")
    tool = models.CharField(max_length=64, help_text="The tool's name in the registry.")
    enabled = models.BooleanField(default=True)
    approval = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        choices=BindingApproval.choices,
        help_text="Whether its calls wait for a person. Empty: as the agent says.",
    )
    approval_when = models.JSONField(
        null=True,
        blank=True,
        help_text="For 'when': a JSON Schema; calls whose arguments fit it wait for a person.",
    )
    approval_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="A call that nobody decides for so long is refused. Empty: as the agent says.",
    )
    approvals = models.PositiveSmallIntegerField(
        default=1,
        db_default=1,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text="How many people have to approve a call; one who denies it denies it.",
    )
    approvers = models.CharField(
        max_length=150,
        blank=True,
        default="",
        db_default="",
        help_text="Only members of this Django group may decide. Empty: whoever may decide at all.",
    )
    escalate_minutes = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="A call that nobody decides for so long goes to more people. Empty: never.",
    )
    escalate_group = models.CharField(
        max_length=150,
        blank=True,
        default="",
        db_default="",
        help_text="Its members may then decide as well. Empty: whoever may decide at all.",
    )
    defaults = models.JSONField(
        default=dict,
        db_default=Value({}, models.JSONField()),
        blank=True,
        help_text="Arguments used where the model gives none: a JSON object.",
    )

    class Meta:
        ordering = ["tool"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "tool"], name="tool_once_per_agent"),
            models.CheckConstraint(
                name="binding_rule_iff_when",
                condition=Q(approval="when", approval_when__isnull=False)
                | (~Q(approval="when") & Q(approval_when__isnull=True)),
            ),
        ]

    def __str__(self) -> str:
        return self.tool
