"""The shop's tables, permissions and people, for the length of a module."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from tests.tools.shop.agent_tools import orders
from tests.tools.shop.models import Order, Shop
from tools.definitions.registry import marked, registry

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scene", "tables"]

MODELS = (Shop, Order)
ALL = ("view", "add", "change")


@dataclass
class Scene:
    """Two shops: Anna's has two orders, Ben's has one."""

    anna: Any
    first: Order
    second: Order
    bens: Order


def person(*actions: str) -> Any:
    """Somebody who may do these things with orders."""
    user = get_user_model().objects.create(username=f"u-{secrets.token_hex(4)}")
    codes = [f"{action}_order" for action in actions]
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="shop", codename__in=codes)
    )
    return user


@pytest.fixture(scope="module")
def tables(database: None) -> Iterator[None]:
    """As `migrate` would leave them; the tools are registered in this process."""
    with connection.schema_editor() as editor:
        for model in MODELS:
            editor.create_model(model)
    kind = ContentType.objects.get_for_model(Order)
    for action in ALL:
        Permission.objects.create(content_type=kind, codename=f"{action}_order", name=action)
    specs = list(marked([orders]))
    for spec in specs:
        registry.register(spec)
    yield
    for spec in specs:
        registry.pop(spec.name, None)
    ContentType.objects.filter(app_label="shop").delete()
    ContentType.objects.clear_cache()
    with connection.schema_editor() as editor:
        for model in reversed(MODELS):
            editor.delete_model(model)


@pytest.fixture
def scene(tables: None) -> Iterator[Scene]:
    """The shops, and nothing of them afterwards."""
    anna, ben = person(*ALL), person(*ALL)
    hers, his = Shop.objects.create(name="Hers"), Shop.objects.create(name="His")
    hers.members.add(anna)
    his.members.add(ben)
    yield Scene(
        anna,
        Order.objects.create(shop=hers, number="A1", cents=500, note="Ring twice."),
        Order.objects.create(shop=hers, number="A2", status="sent"),
        Order.objects.create(shop=his, number="B1"),
    )
    for model in (Order, Shop.members.through, Shop):  # no installed app whose deletions cascade
        model._default_manager.all().delete()
