"""Start the runs of triggers in the transactions of the changes that they follow.

A saved row is read before and after; both readings, the write and the run's row are one
transaction. What Django does not save row by row (``QuerySet.update``, ``bulk_create``, SQL) starts
nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import wraps
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, models, router, transaction
from django.db.models.signals import post_delete

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest
from agents.definitions.triggers import TRIGGERS, Change, RowTrigger, values_of
from agents.messaging.storage import hops_to
from agents.models import Run
from agents.output.payload import parse
from heartbit_site.base.audit import BY_TRIGGER, Actor
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.log_context import RUN
from heartbit_site.base.models import Workspace

logger = logging.getLogger(__name__)

_FOLLOWED: Final[set[type[models.Model]]] = set()
_ACTION = "handle-change"


def follow_all() -> None:
    """Follow the changes of the models of all triggers."""
    for trigger in TRIGGERS.values():
        follow(trigger.model)


def follow(model: type[models.Model]) -> None:
    """Let the saves and deletions of a model's rows start the runs of its triggers."""
    if model in _FOLLOWED:
        return
    if not any(base in _FOLLOWED for base in model.__mro__):  # else it inherits the base's
        model.save_base = _saving(model.save_base)  # type: ignore[method-assign]
    _FOLLOWED.add(model)
    proxies = [one for one in apps.get_models() if one._meta.concrete_model is model]
    for sender in {model, *proxies}:
        post_delete.connect(_deleted, sender=sender)


def _saving(save: Callable[..., None]) -> Callable[..., None]:
    @wraps(save)
    def save_base(self: models.Model, *arguments: Any, **named: Any) -> None:
        if named.get("raw"):  # a fixture is loaded: nothing has happened in the business
            save(self, *arguments, **named)
            return
        using = named.get("using") or router.db_for_write(type(self), instance=self)
        with transaction.atomic(using=using, savepoint=False):
            triggers = _triggers_of(self, using)
            before = _stored(self, using, lock=True)
            save(self, *arguments, **named)
            after = _stored(self, using)
            _start(triggers, before, after)

    return save_base


def _deleted(instance: models.Model, using: str, **_signal: Any) -> None:
    """Follow a deletion, in its transaction; the row of a base has its own signal."""
    concrete = instance._meta.concrete_model
    triggers = _triggers_of(instance, using)
    own = [one for one in triggers if one.model._meta.concrete_model is concrete]
    _start(own, instance, None)


def _triggers_of(row: models.Model, using: str) -> list[RowTrigger]:
    found = [one for one in TRIGGERS.values() if isinstance(row, one.model)]
    if found and using != DEFAULT_DB_ALIAS:
        raise ConfigurationError(
            f"The trigger {found[0].name} follows {row._meta.label}, which is in the database "
            f"{using!r}: a row and its run are one transaction only in the database "
            f"{DEFAULT_DB_ALIAS!r}."
        )
    return found


def _stored(row: models.Model, using: str, *, lock: bool = False) -> models.Model | None:
    """Return the row as it is stored: what expressions and the database made of its values."""
    if row.pk is None:
        return None
    rows = type(row)._base_manager.using(using).filter(pk=row.pk)
    return (rows.select_for_update(no_key=True, of=("self",)) if lock else rows).first()


def _start(
    triggers: Iterable[RowTrigger], before: models.Model | None, after: models.Model | None
) -> None:
    for trigger in triggers:
        if trigger.required:
            _start_one(trigger, before, after)
            continue
        try:
            with transaction.atomic():
                _start_one(trigger, before, after)
        except HeartbitError as error:
            logger.error("the trigger %s starts no run: %s", trigger.name, error)


def _start_one(
    trigger: RowTrigger, before: models.Model | None, after: models.Model | None
) -> None:
    row = after or before
    if row is None:  # it was deleted by what saved it
        return
    change = Change(
        model=row._meta.label_lower,
        pk=values_of(row, [row._meta.pk.name])[row._meta.pk.name],
        old={} if before is None else values_of(before, trigger.fields),
        new={} if after is None else values_of(after, trigger.fields),
    )
    if not change.changed or not trigger.when(change):
        return
    task = trigger.task(change)
    if task is None:
        return
    hops = _hops()
    limit: int = settings.HEARTBIT_MAX_MESSAGE_HOPS
    if hops > limit:
        logger.error(
            "the trigger %s starts no run: %d runs in a row led to this change, and the limit is "
            "%d (HEARTBIT_MAX_MESSAGE_HOPS)",
            *(trigger.name, hops, limit),
        )
        return
    admit(_request(trigger, change, task, hops))


def _request(trigger: RowTrigger, change: Change, task: Any, hops: int) -> RunRequest:
    slug = trigger.workspace if isinstance(trigger.workspace, str) else trigger.workspace(change)
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        raise ConfigurationError(
            f"The trigger {trigger.name} names the workspace {slug!r}, which does not exist."
        )
    by = Actor(f"{BY_TRIGGER}{trigger.name}", "system")
    if not isinstance(task, str):
        data = json.dumps(task, ensure_ascii=False, cls=DjangoJSONEncoder)
        return RunRequest(workspace, data, agent=trigger.agent, hops=hops, by=by)
    payload = parse({"action": _ACTION, "spec": task, "inputs": asdict(change)})
    return RunRequest(workspace, agent=trigger.agent, payload=payload, hops=hops, by=by)


def _hops() -> int:
    """Return how many runs in a row led to this change; 0: no run makes it."""
    run_id = RUN.get()
    run = None if run_id is None else Run.objects.filter(pk=run_id).first()
    return 0 if run is None else hops_to(run) + 1
