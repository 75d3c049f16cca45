"""Orders in the admin, beside Heartbit's own pages."""

from __future__ import annotations

from django.contrib import admin
from unfold.admin import ModelAdmin

from shop.models import Order


@admin.register(Order)
class OrderAdmin(ModelAdmin):
    """People set what is paid."""

    list_display = ("number", "status", "note")
