"""Shops, the people in them, and their orders."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models


class Shop(models.Model):
    """A shop, whose members see its orders."""

    objects: ClassVar[models.Manager[Shop]] = models.Manager()
    name = models.CharField(max_length=40)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL)

    class Meta:
        app_label = "shop"

    def __str__(self) -> str:
        return self.name


class Order(models.Model):
    """An order of a shop."""

    class Status(models.TextChoices):
        NEW = "new", "Just came in"
        SENT = "sent", "On its way"

    objects: ClassVar[models.Manager[Order]] = models.Manager()
    shop_id: int
    shop = models.ForeignKey(Shop, on_delete=models.CASCADE)
    number = models.CharField(max_length=8, unique=True, help_text="Printed on the invoice")
    status = models.CharField(max_length=8, choices=Status, default=Status.NEW)
    note = models.TextField(blank=True)
    cents = models.IntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    total = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    due = models.DateField(null=True, blank=True)
    packed_at = models.DateTimeField(null=True, blank=True)
    extra = models.JSONField(default=dict, blank=True)
    photo = models.FileField(blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "shop"
        ordering = ("-number",)

    def __str__(self) -> str:
        return self.number

    def clean(self) -> None:
        if self.status == self.Status.SENT and self.note == "stop":
            raise ValidationError("A stopped order is not sent.")
