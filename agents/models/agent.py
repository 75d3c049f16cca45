"""What people edit: an agent, and the tools it is given."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from heartbit_site.base.models import Workspace


class Agent(models.Model):
    """A language model with a prompt, tools and limits.

    Saving one in the admin publishes an immutable ``AgentVersion``; runs are pinned to versions.
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
        default=60,
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
            models.UniqueConstraint(fields=["workspace", "name"], name="agent_name_in_workspace")
        ]

    def __str__(self) -> str:
        return self.name


class ToolBinding(models.Model):
    """A tool given to an agent."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="bindings")
    tool = models.CharField(max_length=64, help_text="The tool's name in the registry.")
    enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ["tool"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "tool"], name="tool_once_per_agent")
        ]

    def __str__(self) -> str:
        return self.tool
