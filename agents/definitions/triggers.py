"""Triggers: a change of a row of one's own model starts a run in the same transaction.

Usage, in the module ``agent_triggers`` of an app::

    @on_change(Order, agent="fulfilment", when=lambda change: change.became("status", "paid"))
    def ship(change: Change) -> str:
        '''Ship what was paid.'''
        return f"Ship order {change.pk}."

The run exists if and only if the change is committed. The guide: docs/howto/triggers.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import UNDECLARED, Label
from tools.model_fields import field_of, has_json_form

#: The task of the run, or the input of a workflow's run; None: no run.
Task: TypeAlias = "str | Mapping[str, Any] | None"
_MOST_OF_NAME = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a row.

    Attributes:
        model: The model's label, such as ``shop.order``.
        pk: Key of the row, as JSON has it.
        old: Values before the change, by field, as JSON has them; empty: the row is new.
        new: Values after it; empty: the row was deleted.
    """

    model: str
    pk: Any
    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the fields whose values differ; of a new or deleted row, all of them."""
        if not (self.old and self.new):
            return tuple(self.new or self.old)
        return tuple(name for name in self.new if self.old[name] != self.new[name])

    def became(self, field: str, value: Any) -> bool:
        """Return True if the field has this value now, and had another one before, or none."""
        is_new = field in self.new and self.new[field] == value
        return is_new and (not self.old or self.old[field] != value)


@dataclass(frozen=True, slots=True)
class RowTrigger:
    """A declared trigger.

    Attributes:
        name: Its runs are started by ``trigger NAME``.
        model: The model whose rows it follows.
        agent: Name of the agent or workflow that it starts.
        workspace: Slug of the run's workspace, or a function of the change that returns it.
        fields: Fields whose values the run is given.
        when: Decides whether a change starts a run.
        task: Returns the run's task.
        labels: Flow of the row's values, as of a tool's results.
        required: Whether a change whose run cannot be started fails; else that is logged.
    """

    name: str
    model: type[models.Model]
    agent: str
    workspace: str | Callable[[Change], str]
    fields: tuple[str, ...]
    when: Callable[[Change], bool]
    task: Callable[[Change], Task]
    labels: frozenset[Label]
    required: bool


#: Triggers of this process, by name.
TRIGGERS: Final[dict[str, RowTrigger]] = {}


def on_change(
    model: type[models.Model],
    *,
    agent: str,
    workspace: str | Callable[[Change], str] = "default",
    fields: Iterable[str] | None = None,
    when: Callable[[Change], bool] = bool,
    name: str = "",
    labels: Iterable[Label] = UNDECLARED,
    required: bool = True,
) -> Callable[[Callable[[Change], Task]], Callable[[Change], Task]]:
    """Declare a trigger: the decorated function returns the task of a change's run.

    Args:
        model: A model of one's own, in the database of Heartbit.
        agent: Name of the agent or workflow.
        workspace: Slug of the run's workspace, or a function of the change that returns it.
        fields: Fields whose values the run is given; None: all that JSON can hold.
        when: Decides whether a change starts a run. By default each does.
        name: Name of the trigger; empty: the function's.
        labels: Flow of the row's values. By default they may be private, and text by outsiders.
        required: True to let the change fail if its run cannot be started; False to log that.

    Raises:
        ConfigurationError: The name is taken or too long, or there is no such field.
    """

    def declare(task: Callable[[Change], Task]) -> Callable[[Change], Task]:
        called = name or task.__name__
        if called in TRIGGERS:
            raise ConfigurationError(f"Two triggers have the name {called!r}: rename one.")
        if len(called) > _MOST_OF_NAME:
            raise ConfigurationError(
                f"The name of the trigger {called[:20]}… has {len(called)} characters: shorten it "
                f"to {_MOST_OF_NAME}."
            )
        TRIGGERS[called] = RowTrigger(
            name=called,
            model=model,
            agent=agent,
            workspace=workspace,
            fields=_names(model, fields),
            when=when,
            task=task,
            labels=frozenset(labels),
            required=required,
        )
        return task

    return declare


def values_of(row: models.Model, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of a row as JSON has them, by field."""
    raw = {name: row._meta.get_field(name).value_from_object(row) for name in names}  # type: ignore[union-attr]
    found: dict[str, Any] = json.loads(json.dumps(raw, cls=DjangoJSONEncoder))
    return found


def _names(model: type[models.Model], fields: Iterable[str] | None) -> tuple[str, ...]:
    if fields is not None:
        return tuple(field_of(model, name).name for name in fields)
    return tuple(field.name for field in model._meta.concrete_fields if has_json_form(field))
