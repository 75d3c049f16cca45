"""Prices of models that a workspace sets; running workers use them within ten seconds."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from agents.models import ModelPrice
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, NotFoundError
from heartbit_site.base.rights import require

_AMOUNTS = ("input_usd", "output_usd", "cached_input_usd")


class ModelPriceNotFoundError(NotFoundError):
    """The workspace has set no such price."""


@transaction.atomic
def save_price(price: ModelPrice, *, by: Actor) -> ModelPrice:
    """Set the price of a model, in place of the published one and of an earlier one.

    Args:
        price: Row with its workspace, saved or not.
        by: Author, for the audit.

    Returns:
        The stored row.

    Raises:
        ConfigurationError: The model is not written as ``provider:model``, or an amount is no
            price.
    """
    require(by, "agents:write", workspace_id=price.workspace_id)
    try:
        price.clean_fields(exclude=("workspace",))
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        raise ConfigurationError(f"The {name} of a price is not valid: {texts[0]}") from None
    amounts = {name: getattr(price, name) for name in _AMOUNTS}
    row, is_new = ModelPrice.objects.update_or_create(
        workspace_id=price.workspace_id, model=price.model, defaults=amounts
    )
    details = {name: None if value is None else str(value) for name, value in amounts.items()}
    record_on(by, "price.create" if is_new else "price.change", row, details=details)
    price.pk = row.pk
    price._state.adding = False
    return row


@transaction.atomic
def remove_price(price: ModelPrice, *, by: Actor) -> None:
    """Delete a price; the published one counts again, if there is one."""
    require(by, "agents:write", workspace_id=price.workspace_id)
    record_on(by, "price.remove", price)
    ModelPrice.objects.filter(pk=price.pk).delete()
