"""Tools over the rows of a Django model: list, get, create and update.

Usage, in a module ``agent_tools`` of an app::

    @orm_tool(Order, fields=("number", "status", "note"), change=("status", "note"),
              actions=("list", "get", "update"))
    def orders(context: ToolContext) -> QuerySet[Order]:
        '''Orders of the person's shop.'''
        return Order.objects.filter(shop__members=context.user_id)

These are the tools ``orders_list``, ``orders_get`` and ``orders_update``. They reach the rows of
the queryset only, and only for a person with Django's permission ``shop.view_order`` or
``shop.change_order``. The guide: docs/howto/tools.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from django.contrib.auth import get_permission_codename
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models

from heartbit_site.base import docstrings
from heartbit_site.base.errors import (
    ConfigurationError,
    ForbiddenError,
    HeartbitError,
    NotFoundError,
)
from heartbit_site.base.toolspec import Effect, Label, ToolContext, ToolSpec
from tools.calls.permissions import permitted, refusal
from tools.model_fields import ModelField, field_of, schema_of, value_of, writable

M = TypeVar("M", bound=models.Model)
Action = Literal["list", "get", "create", "update"]
Scope = Callable[[ToolContext], "models.QuerySet[M]"]

ROWS: Final = 20
MOST_ROWS: Final = 100
MOST_PAGES: Final = 10_000
_PERMISSIONS: Final = {"list": "view", "get": "view", "create": "add", "update": "change"}
_SUMMARIES: Final = {
    "list": "List {plural} by page; the other arguments select by exactly their value.",
    "get": "Read one {noun}.",
    "create": "Add one {noun}.",
    "update": "Change one {noun}; fields that are not given stay.",
}
_PAGING: Final = {
    "page": {"type": "integer", "minimum": 1, "maximum": MOST_PAGES, "default": 1},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ROWS,
        "default": ROWS,
        "description": "Rows of a page.",
    },
}


class RowRefusedError(HeartbitError):
    """A row is not valid: one sentence for each invalid field."""


def orm_tool(
    model: type[M],
    *,
    fields: Iterable[str],
    change: Iterable[str] = (),
    actions: Iterable[Action] = ("list", "get"),
    new: Callable[[ToolContext], M] | None = None,
    anyone: bool = False,
    untrusted: bool = False,
) -> Callable[[Scope[M]], Scope[M]]:
    """Mark a function that returns a queryset as tools over its rows, one for each action.

    The function's name begins their names, its docstring describes the rows to the model.

    Args:
        model: Model of the rows.
        fields: Fields that are shown, and by which ``list`` selects.
        change: Those of them that ``create`` and ``update`` set.
        actions: ``list`` and ``get`` are pure, ``create`` and ``update`` transactional.
        new: Returns the unsaved row that ``create`` fills; None: an empty one.
        anyone: True: no permission is needed, and no person behind the run.
        untrusted: True: the rows hold text by outsiders, such as tickets or reviews, which may hold
            instructions to the model (``Label.UNTRUSTED``).

    Raises:
        ConfigurationError: A field or an action cannot be used, or there is no docstring.
    """

    def decorate(scope: Scope[M]) -> Scope[M]:
        name = getattr(scope, "__name__", "")
        text, _ = docstrings.read(inspect.getdoc(scope) or "")
        rows = _Rows(
            name=name,
            model=model,
            scope=scope,
            shown=tuple(field_of(model, field) for field in fields),
            changed=tuple(field_of(model, field) for field in change),
            new=new,
            anyone=anyone,
            labels=frozenset({Label.PRIVATE, *((Label.UNTRUSTED,) if untrusted else ())}),
        )
        wanted = tuple(actions)
        _check(rows, text, wanted)
        specs = tuple(_spec(rows, action, text) for action in wanted)
        scope.__tool__ = specs  # type: ignore[attr-defined]  # the mark discovery looks for
        return scope

    return decorate


@dataclass(frozen=True, slots=True)
class _Rows(Generic[M]):
    """Rows that a function returns, and what may be done with them."""

    name: str
    model: type[M]
    scope: Scope[M]
    shown: tuple[ModelField, ...]
    changed: tuple[ModelField, ...]
    new: Callable[[ToolContext], M] | None
    anyone: bool
    labels: frozenset[Label]

    @property
    def key(self) -> ModelField:
        return self.model._meta.pk

    @property
    def noun(self) -> str:
        return str(self.model._meta.verbose_name)

    def permission(self, action: str) -> str:
        """Return the name of Django's permission for an action; empty: anyone may."""
        options = self.model._meta
        code = get_permission_codename(_PERMISSIONS[action], options)
        return "" if self.anyone else f"{options.app_label}.{code}"

    def list(self, context: ToolContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return one page of the rows that have the given values."""
        given = dict(arguments)
        page, limit = given.pop("page", 1), given.pop("limit", ROWS)
        found = self.scope(context).filter(**_values(self.shown, given))
        order = tuple(found.query.order_by) or tuple(self.model._meta.ordering or ())
        start = (page - 1) * limit
        rows = [self._shown(row) for row in found.order_by(*order, "pk")[start : start + limit + 1]]
        return {"rows": rows[:limit], "page": page, "more": len(rows) > limit}

    def get(self, context: ToolContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row with the given key."""
        return self._shown(self._found(self.scope(context), arguments))

    def create(self, context: ToolContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Add a row."""
        row = self.model() if self.new is None else self.new(context)
        _fill(row, self.changed, arguments)
        return self._saved(row, context, exclude=())

    def update(self, context: ToolContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Change the given fields of a row."""
        names = arguments.keys() - {self.key.name}
        if not names:
            fields = ", ".join(field.name for field in self.changed)
            raise RowRefusedError(f"Nothing was changed: give at least one of {fields}.")
        # A lock on the queryset itself would lock the tables that it joins.
        keys = self.scope(context).order_by().values("pk")
        own = self.model._base_manager.select_for_update(of=("self",)).filter(pk__in=keys)
        row = self._found(own, arguments)
        _fill(row, self.changed, arguments)
        rest = [field.name for field in self.model._meta.fields if field.name not in names]
        return self._saved(row, context, exclude=rest)

    def _found(self, rows: models.QuerySet[M], arguments: Mapping[str, Any]) -> M:
        key = arguments[self.key.name]
        row = rows.filter(**_values((self.key,), {self.key.name: key})).first()
        if row is None:
            raise NotFoundError(
                f"There is no {self.noun} with the {self.key.name} {key} among those that this "
                "tool reaches."
            )
        return row

    def _saved(self, row: M, context: ToolContext, *, exclude: Iterable[str]) -> dict[str, Any]:
        try:
            row.full_clean(exclude=exclude)
            row.save()
        except ValidationError as error:
            raise RowRefusedError(_sentences(error)) from None
        except IntegrityError as error:
            reason = str(error).strip().partition("\n")[0]
            raise RowRefusedError(f"The database refused the {self.noun}: {reason}.") from None
        row = self._in_scope(row, context)
        return self._shown(row)

    def _in_scope(self, row: M, context: ToolContext) -> M:
        """Return a saved row as stored, unless its values put it out of the tool's reach."""
        stored = self.scope(context).filter(pk=row.pk).first()
        if stored is None:
            raise RowRefusedError(
                f"Nothing was changed: the {self.noun} would not be among those that this tool "
                "reaches."
            )
        return stored

    def _shown(self, row: M) -> dict[str, Any]:
        shown = dict.fromkeys((self.key, *self.shown))
        return {field.name: getattr(row, field.attname) for field in shown}


def _parameters(rows: _Rows[M], action: Action) -> dict[str, Any]:
    """Return the JSON schema of an action's arguments."""
    key = {rows.key.name: schema_of(rows.key)}
    shown = {field.name: schema_of(field) for field in rows.shown}
    changed = {field.name: writable(schema_of(field), field) for field in rows.changed}
    required = [] if rows.new is not None else [f.name for f in rows.changed if _is_required(f)]
    match action:
        case "list":
            properties, required = {**_selecting(shown), **_PAGING}, []
        case "get":
            properties, required = key, [*key]
        case "create":
            properties = changed
        case "update":
            unset = {name: _without_default(schema) for name, schema in changed.items()}
            properties, required = {**key, **unset}, [*key]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _spec(rows: _Rows[M], action: Action, text: str) -> ToolSpec:
    """Return the tool of one action."""
    summary = _SUMMARIES[action].format(noun=rows.noun, plural=rows.model._meta.verbose_name_plural)
    permission = rows.permission(action)
    act: Callable[[ToolContext, Mapping[str, Any]], dict[str, Any]] = getattr(rows, action)

    def call(context: ToolContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if permission and not permitted(context.user_id, (permission,)):
            raise ForbiddenError(refusal(name, (permission,), context.user_id))
        return act(context, arguments)

    name = f"{rows.name}_{action}"
    return ToolSpec(
        name=name,
        description=f"{summary} {text}",
        parameters=_parameters(rows, action),
        function=call,
        effect=Effect.TRANSACTIONAL if action in ("create", "update") else Effect.PURE,
        context_parameter="context",
        bind=lambda arguments: {"arguments": dict(arguments)},
        labels=rows.labels,
        requires=permission,
        source=str(getattr(rows.scope, "__module__", "")),
    )


def _check(rows: _Rows[M], text: str, actions: tuple[str, ...]) -> None:
    """Refuse an inconsistent declaration."""
    here = f"orm_tool of {rows.name}"
    unknown = set(actions) - set(get_args(Action))
    shown = {field.name for field in rows.shown}
    writes = bool({"create", "update"} & set(actions))
    hidden = [field.name for field in rows.changed if field.name not in shown]
    fixed = [f.name for f in rows.changed if f.primary_key or not f.editable]
    if not text:
        raise ConfigurationError(f"{here} has no description: give the function a docstring.")
    if unknown or not actions:
        raise ConfigurationError(f"{here}: choose its actions from {', '.join(get_args(Action))}.")
    if writes != bool(rows.changed):
        raise ConfigurationError(
            f"{here} needs both an action that writes (create, update) and `change`, or neither."
        )
    if hidden or fixed:
        why = "is not among `fields`" if hidden else "cannot be edited"
        raise ConfigurationError(f"{here}: {(hidden or fixed)[0]} {why}: remove it from `change`.")
    if "list" in actions and shown & _PAGING.keys():
        name = min(shown & _PAGING.keys())
        raise ConfigurationError(
            f"{here}: the field {name} has the name of an argument of {rows.name}_list: leave "
            f"out the field or the action."
        )


def _selecting(schemas: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fields by whose value rows can be selected: those with a type."""
    return {name: schema for name, schema in schemas.items() if {"type", "anyOf"} & schema.keys()}


def _is_required(field: ModelField) -> bool:
    return not (field.blank or field.has_default())


def _without_default(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "default"}


def _values(fields: Iterable[ModelField], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values of fields in the fields' types, by the column's attribute."""
    found: dict[str, Any] = {}
    problems: dict[str, list[str]] = {}
    for field in fields:
        if field.name in given:
            try:
                found[field.attname] = value_of(field, given[field.name])
            except ValidationError as error:
                problems[field.name] = error.messages
    if problems:
        raise RowRefusedError(_sentences(ValidationError(problems)))
    return found


def _fill(row: models.Model, fields: Iterable[ModelField], given: Mapping[str, Any]) -> None:
    for name, value in _values(fields, given).items():
        setattr(row, name, value)


def _sentences(error: ValidationError) -> str:
    return " ".join(
        " ".join(messages) if name == NON_FIELD_ERRORS else f"{name}: {' '.join(messages)}"
        for name, messages in error.message_dict.items()
    )
