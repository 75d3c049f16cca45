"""Spending limits of a workspace, or of one of its agents, per day or month."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agents.choices import BudgetPeriod
from agents.models.agent import Agent
from heartbit_site.base.budget_scope import describe_scope
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import one_of


class Budget(models.Model):
    """A limit on tokens, on money, or on both.

    The journal updates the spent columns in the transaction that records a model answer. They
    cover the period that began at ``period_start`` and are reset when the next one begins.

    Attributes:
        agent: Agent whose runs count; null: all runs of the workspace.
        person: Person whose runs count, with their sub-agents; null: everyone's.
        schedule: Name of the schedule whose runs count; empty: all runs.
        ask_at: Usage in percent at which runs wait until an owner lets them go on.
        allowed_period: Start of the last period in which an owner has let runs go on.
        max_usd: Limit in US dollars; calls of unknown price count as 0 here, their tokens count.
        from_tier: True for the limit of the workspace's tier, which the database creates, updates
            and deletes with the tier (``sql/quotas.sql``).
        warned_period: Start of the last period in which a warning was sent.
        exceeded_period: Start of the last period in which a model call was refused.
        exceeded_notified_period: Start of the last period whose refusal was reported
            (``quota.reached``).
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="budgets")
    agent = models.ForeignKey(
        Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="budgets"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Person whose runs count. Empty: everyone's.",
    )
    schedule = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="Name of the schedule whose runs count. Empty: all runs.",
    )
    period = models.CharField(max_length=8, choices=BudgetPeriod.choices)
    max_tokens = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Tokens per period, read and written. Empty: no limit.",
    )
    max_usd = models.DecimalField(
        null=True,
        blank=True,
        max_digits=12,
        decimal_places=4,
        validators=[MinValueValidator(0)],
        help_text="US dollars per period. Empty: no limit.",
    )
    period_start = models.DateTimeField(db_default=Now(), editable=False)
    spent_tokens = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    spent_usd = models.DecimalField(
        max_digits=16, decimal_places=8, default=0, db_default=0, editable=False
    )
    from_tier = models.BooleanField(default=False, db_default=False, editable=False)
    warn_at = models.PositiveSmallIntegerField(
        default=80,
        db_default=80,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Usage in percent of a limit that triggers a warning, once per period.",
    )
    ask_at = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=(
            "Usage in percent of a limit at which runs wait until an owner lets them go on, once "
            "per period. Empty: never."
        ),
    )
    allowed_period = models.DateTimeField(null=True, blank=True, editable=False)
    warned_period = models.DateTimeField(null=True, blank=True, editable=False)
    exceeded_period = models.DateTimeField(null=True, blank=True, editable=False)
    exceeded_notified_period = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["workspace", "agent", "period"]
        constraints = [
            models.UniqueConstraint(
                "workspace",
                F("agent"),
                F("person"),
                "schedule",
                "period",
                "from_tier",
                name="budget_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="budget_limits_something",
                condition=Q(max_tokens__isnull=False) | Q(max_usd__isnull=False),
            ),
            one_of("period", BudgetPeriod.values, name="budget_period_known"),
            models.CheckConstraint(
                name="budget_warns_in_percent", condition=Q(warn_at__gte=1, warn_at__lte=100)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.whose or self.workspace.slug} a {self.period}"

    @property
    def whose(self) -> str:
        """Whose runs count; empty: all of the workspace."""
        return describe_scope(
            self.agent.name if self.agent is not None else "",
            self.person.get_username() if self.person is not None else "",
            self.schedule,
        )
