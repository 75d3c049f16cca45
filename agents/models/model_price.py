"""Prices of models that a workspace has set, instead of the published ones."""

from __future__ import annotations

from typing import Any, Final

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace

_DOLLARS: Final[dict[str, Any]] = {
    "max_digits": 12,
    "decimal_places": 6,
    "validators": [MinValueValidator(0)],
}


class ModelPrice(models.Model):
    """Price of one model in US dollars per million tokens.

    Attributes:
        cached_input_usd: Of tokens read from a cache; null: that of other input.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="model_prices")
    model = models.CharField(
        max_length=200,
        validators=[RegexValidator(r"^[a-z_]+:\S+$", "Write provider:model, e.g. openai:gpt-5.")],
        help_text="provider:model, e.g. compatible:our-model.",
    )
    input_usd = models.DecimalField(
        "input", **_DOLLARS, help_text="US dollars per million tokens read."
    )
    output_usd = models.DecimalField(
        "output", **_DOLLARS, help_text="US dollars per million tokens written."
    )
    cached_input_usd = models.DecimalField(
        "cached input",
        **_DOLLARS,
        null=True,
        blank=True,
        help_text="US dollars per million tokens read from a cache. Empty: as other input.",
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["workspace", "model"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "model"],
                name="model_price_once",
                violation_error_message="The workspace has a price of that model: change it.",
            ),
            models.CheckConstraint(
                name="model_price_is_no_gain",
                condition=models.Q(input_usd__gte=0, output_usd__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return self.model
