"""Prices of models in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from agents.actions.model_prices import remove_price, save_price
from agents.models import ModelPrice
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm


class ModelPriceForm(VerbForm[ModelPrice]):
    """The price of a model."""

    class Meta:
        model = ModelPrice
        fields = ("workspace", "model", "input_usd", "output_usd", "cached_input_usd")


@admin.register(ModelPrice)
class ModelPriceAdmin(VerbAdmin[ModelPrice]):
    """Prices that a workspace sets; models without one have the published price, or none."""

    needs: ClassVar = rights("runs:read", "agents:write")
    remove = staticmethod(remove_price)
    form = ModelPriceForm
    list_display = ("model", "workspace", "input_usd", "output_usd", "cached_input_usd")
    list_filter = ("workspace",)
    search_fields = ("model",)
    warn_unsaved_form = True
    fieldsets = (
        (None, {"fields": ("workspace", "model")}),
        (
            "US dollars per million tokens",
            {"fields": (("input_usd", "output_usd", "cached_input_usd"),)},
        ),
    )
    fixed = ("workspace", "model")

    def save_row(self, request: HttpRequest, row: ModelPrice, form: Any) -> None:
        """Save with ``save_price``."""
        save_price(row, by=actor_of(request))
