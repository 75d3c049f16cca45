"""Orders of a shop."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order; agents see those that are paid."""

    number = models.CharField(max_length=8, unique=True, help_text="Printed on the invoice")
    status = models.CharField(
        max_length=8,
        choices=[("new", "Not paid yet"), ("paid", "To be packed"), ("sent", "On its way")],
        default="new",
    )
    note = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.number
