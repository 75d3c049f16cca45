"""Encrypt every stored secret with the newest key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from heartbit_site.base import audit, secrets
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models.secret_text import SecretTextField

BATCH = 200


@dataclass(slots=True)
class Rotation:
    """Result of a rotation.

    Attributes:
        changed: Number of secrets that were re-encrypted.
        failures: One sentence for each secret that could not be read; these rows are unchanged.
    """

    changed: int = 0
    failures: list[str] = field(default_factory=list)


def rotate_secrets(*, batch: int = BATCH, by: Actor = SYSTEM) -> Rotation:
    """Re-encrypt every secret that is not encrypted with the newest key.

    Each batch is a transaction of its own, so an interrupted rotation continues where it was; each
    batch with a change has an entry in the installation's audit.

    Args:
        batch: Rows in one transaction.
        by: Author, for the audit.

    Raises:
        ConfigurationError: The installation's keys cannot be used.
    """
    rotation = Rotation()
    for model, column in secret_columns():
        last: Any = None
        while (last := _rotate_batch(model, column, last, batch, rotation, by=by)) is not None:
            pass
    return rotation


def secret_columns() -> Iterator[tuple[type[Model], str]]:
    """Yield every column of every installed app that holds secrets."""
    for model in apps.get_models():
        for column in model._meta.local_concrete_fields:
            if isinstance(column, SecretTextField):
                yield model, column.name


@transaction.atomic
def _rotate_batch(
    model: type[Model], column: str, after: Any, batch: int, rotation: Rotation, *, by: Actor
) -> Any:
    """Rotate the rows that follow ``after``; return the last one's id, or None at the end."""
    newest, *_ = secrets.prefixes()
    rows = model._default_manager.select_for_update(of=("self",)).order_by("pk")
    rows = rows.exclude(**{column: ""}).exclude(**{f"{column}__startswith": newest})
    if after is not None:
        rows = rows.filter(pk__gt=after)
    last, former = None, rotation.changed
    for row in rows[:batch]:
        last = row.pk
        try:
            text = secrets.reveal(row, column)
        except secrets.SecretError as error:
            rotation.failures.append(str(error))
            continue
        # Only this column, without save(): nothing else of the row has changed.
        sealed = secrets.seal(row, column, text)
        model._default_manager.filter(pk=row.pk).update(**{column: sealed})
        rotation.changed += 1
    if rotation.changed > former:
        place, details = f"{model._meta.label}.{column}", {"secrets": rotation.changed - former}
        audit.record(by, "secret.rotate", workspace=None, target=place, details=details)
    return last
