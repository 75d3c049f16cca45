"""A Django model given to agents in five lines: its rows, and no others, for those who may."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import connection, models, transaction

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Effect, Label, ToolContext
from heartbit_site.library.tool_sources import bind, resolve_tools
from tests.tools.calls import context
from tests.tools.shop.agent_tools import orders
from tests.tools.shop.models import Order
from tests.tools.shop.setting import ALL, Scene, person, scene, tables
from tools.calls.pipeline import PreparedCall, execute_here, prepare
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry, marked
from tools.model_fields import schema_of
from tools.orm_tools import orm_tool

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["scene", "tables"]

SPECS = Registry(marked([orders]))


def result(name: str, user: Any = None, **arguments: Any) -> ToolResult:
    """The result of a call through the pipeline, as a run would execute it."""
    here = replace(context(), user_id=None if user is None else user.pk)
    prepared = prepare(SPECS, name=name, arguments=json.dumps(arguments), context=here)
    if isinstance(prepared, ToolResult):
        return prepared
    assert isinstance(prepared, PreparedCall)
    with transaction.atomic():
        done = execute_here(prepared, around=transaction.atomic)
    assert isinstance(done, ToolResult)
    return done


def answer(name: str, user: Any, **arguments: Any) -> Any:
    done = result(name, user, **arguments)
    assert done.status == "ok", done.content
    return json.loads(done.content)


def numbers(found: dict[str, Any]) -> list[str]:
    return [row["number"] for row in found["rows"]]


class TestDefinitions:
    def test_each_action_is_a_tool_with_its_effect_permission_and_label(self) -> None:
        assert {name: (spec.effect, spec.requires) for name, spec in SPECS.items()} == {
            "orders_list": (Effect.PURE, "shop.view_order"),
            "orders_get": (Effect.PURE, "shop.view_order"),
            "orders_create": (Effect.TRANSACTIONAL, "shop.add_order"),
            "orders_update": (Effect.TRANSACTIONAL, "shop.change_order"),
        }
        assert all(spec.labels == {Label.PRIVATE} for spec in SPECS.values())

        @orm_tool(Order, fields=("number", "note"), actions=("list",), untrusted=True)
        def reviews(context: ToolContext) -> models.QuerySet[Order]:
            """Orders with what customers wrote."""
            return Order.objects.all()

        [spec] = marked([reviews])
        assert spec.labels == {Label.PRIVATE, Label.UNTRUSTED}
        assert SPECS["orders_get"].description == "Read one order. Orders of the person's shop."

    def test_schemas_come_from_the_model_s_fields(self) -> None:
        shown = SPECS["orders_list"].parameters["properties"]
        assert shown["number"] == {
            "type": "string",
            "maxLength": 8,
            "description": "Printed on the invoice.",
        }
        assert shown["status"] == {
            "type": "string",
            "enum": ["new", "sent"],
            "description": "new: Just came in; sent: On its way.",
        }
        assert shown["due"] == {"type": "string", "format": "date"}
        assert shown["shop"] == {"type": "integer", "description": "Key of the shop."}
        assert "extra" not in shown, "no row is selected by a JSON value"
        assert SPECS["orders_list"].parameters["required"] == []
        update = SPECS["orders_update"].parameters
        assert update["required"] == ["id"]
        assert update["properties"]["cents"] == {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 2147483647},
                {"type": "null"},
            ]
        }
        assert "default" not in update["properties"]["status"], "what is not given stays"
        assert SPECS["orders_create"].parameters["properties"]["status"]["default"] == "new"

    def test_required_are_the_fields_without_a_default_unless_the_row_is_prepared(self) -> None:
        @orm_tool(Order, fields=("number", "note"), change=("number", "note"), actions=("create",))
        def other(context: ToolContext) -> models.QuerySet[Order]:
            """Orders."""
            return Order.objects.all()

        [spec] = marked([other])
        assert spec.parameters["required"] == ["number"]
        assert SPECS["orders_create"].parameters["required"] == []

    def test_a_program_s_agent_gets_all_of_them(self) -> None:
        assert [tool.name for tool in resolve_tools(orders)] == list(SPECS)
        with pytest.raises(ConfigurationError, match="Bind one tool at a time"):
            bind(orders)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"fields": ("numer",)}, "Order has no field 'numer'; did you mean number?"),
            ({"fields": ("photo",)}, "Order.photo is a FileField, which a tool cannot take"),
            ({"fields": ("number",), "actions": ("drop",)}, "choose its actions from list, get"),
            ({"fields": ("number",), "actions": ()}, "choose its actions from list, get"),
            ({"fields": ("number",), "actions": ("update",)}, "needs both an action that writes"),
            ({"fields": ("number",), "change": ("number",)}, "needs both an action that writes"),
            (
                {"fields": ("number",), "change": ("note",), "actions": ("update",)},
                "note is not among `fields`",
            ),
            (
                {"fields": ("id",), "change": ("id",), "actions": ("update",)},
                "id cannot be edited",
            ),
            (
                {"fields": ("changed_at",), "change": ("changed_at",), "actions": ("update",)},
                "changed_at cannot be edited",
            ),
        ],
    )
    def test_a_declaration_that_makes_no_sense_is_refused_in_a_sentence(
        self, options: dict[str, Any], sentence: str
    ) -> None:
        def some(context: ToolContext) -> models.QuerySet[Order]:
            """Orders."""
            return Order.objects.all()

        with pytest.raises(ConfigurationError) as refused:
            orm_tool(Order, **options)(some)
        assert sentence in str(refused.value)

    def test_bounds_that_json_can_hold_exactly_are_in_the_schema(self) -> None:
        bounds = [MinValueValidator(3), MinValueValidator(7), MinValueValidator(lambda: 9)]
        field = models.BigIntegerField(validators=bounds)  # its own are beyond 2**53
        assert schema_of(field) == {"type": "integer", "minimum": 7}
        few = models.SmallIntegerField(validators=[MaxValueValidator(5), MaxValueValidator(4)])
        assert schema_of(few) == {"type": "integer", "minimum": -(2**15), "maximum": 4}

    def test_a_function_without_a_docstring_is_refused(self) -> None:
        def some(context: ToolContext) -> models.QuerySet[Order]:
            return Order.objects.all()

        with pytest.raises(ConfigurationError, match="has no description"):
            orm_tool(Order, fields=("number",))(some)


class TestReading:
    def test_rows_of_the_queryset_are_listed_by_page_and_value(self, scene: Scene) -> None:
        found = answer("orders_list", scene.anna)
        assert numbers(found) == ["A2", "A1"], "in the model's order, without Ben's"
        assert found["rows"][1] == {
            "id": scene.first.pk,
            "number": "A1",
            "status": "new",
            "note": "Ring twice.",
            "shop": scene.first.shop_id,
            "cents": 500,
            "total": None,
            "due": None,
            "packed_at": None,
            "extra": {},
        }
        assert numbers(answer("orders_list", scene.anna, status="sent")) == ["A2"]
        assert numbers(answer("orders_list", scene.anna, status="new", cents=1)) == []
        first = answer("orders_list", scene.anna, limit=1)
        assert (numbers(first), first["more"]) == (["A2"], True)
        second = answer("orders_list", scene.anna, limit=1, page=2)
        assert (numbers(second), second["page"], second["more"]) == (["A1"], 2, False)

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            ({"limit": 101}, "more than 100"),
            ({"page": 0}, "less than 1"),
            ({"status": "lost"}, "is not one of"),
            ({"colour": "red"}, "colour"),
            ({"due": "soon"}, "soon"),
            ({"packed_at": "2026-13-01T00:00:00Z"}, "packed_at"),
        ],
    )
    def test_a_wrong_value_is_refused(
        self, scene: Scene, arguments: dict[str, Any], problem: str
    ) -> None:
        done = result("orders_list", scene.anna, **arguments)
        assert done.status in ("invalid", "error")
        assert problem in done.content

    def test_one_row_is_read_by_its_key_and_another_s_is_not(self, scene: Scene) -> None:
        assert answer("orders_get", scene.anna, id=scene.first.pk)["number"] == "A1"
        done = result("orders_get", scene.anna, id=scene.bens.pk)
        assert (done.status, "There is no order with the id" in done.content) == ("error", True)


class TestWriting:
    def test_given_fields_change_and_the_others_stay(self, scene: Scene) -> None:
        before = scene.first.changed_at
        row = answer(
            "orders_update",
            scene.anna,
            id=scene.first.pk,
            status="sent",
            cents=None,
            total="12.50",
            due="2026-12-24",
            packed_at="2026-12-01T10:00:00Z",
            extra={"gift": [True]},
        )
        assert (row["status"], row["cents"], row["note"]) == ("sent", None, "Ring twice.")
        assert (row["total"], row["due"]) == ("12.50", "2026-12-24")
        assert row["packed_at"].startswith("2026-12-01T10:00:00")
        scene.first.refresh_from_db()
        assert (scene.first.status, scene.first.extra) == ("sent", {"gift": [True]})
        assert scene.first.changed_at > before

    def test_a_row_is_added_to_the_one_that_the_app_prepares(self, scene: Scene) -> None:
        row = answer("orders_create", scene.anna, number="A3", note="New.")
        stored = Order.objects.get(pk=row["id"])
        assert (stored.shop_id, stored.status) == (scene.first.shop_id, "new")

    @pytest.mark.parametrize(
        ("name", "arguments", "sentence"),
        [
            ("orders_create", {}, "number: This field cannot be blank."),
            ("orders_create", {"number": "B1"}, "number: Order with this Number already exists."),
            ("orders_update", {"due": "2026-02-30"}, "due"),
            ("orders_update", {"total": "much"}, "total: “much” value must be a decimal number."),
            ("orders_update", {"total": "1.234"}, "total: Ensure that there are no more than 2"),
            (
                *("orders_update", {"status": "sent", "note": "stop"}),
                "RowRefusedError: A stopped order is not sent.",
            ),
            ("orders_update", {"number": "B1"}, "number: Order with this Number already exists."),
            ("orders_update", {"shop": 10**9}, "shop: shop instance with id 1000000000"),
            ("orders_update", {}, "Nothing was changed: give at least one of number, status"),
        ],
    )
    def test_what_the_model_refuses_is_one_sentence_for_each_field(
        self, scene: Scene, name: str, arguments: dict[str, Any], sentence: str
    ) -> None:
        given = arguments if name == "orders_create" else {"id": scene.first.pk, **arguments}
        done = result(name, scene.anna, **given)
        assert done.status in ("error", "invalid")
        assert sentence in done.content
        assert Order.objects.get(pk=scene.first.pk).changed_at == scene.first.changed_at
        assert Order.objects.count() == 3

    def test_another_s_row_is_not_changed_and_no_row_is_moved_out_of_reach(
        self, scene: Scene
    ) -> None:
        done = result("orders_update", scene.anna, id=scene.bens.pk, note="Mine.")
        assert "There is no order with the id" in done.content
        for name, given in (
            ("orders_update", {"id": scene.first.pk, "shop": scene.bens.shop_id}),
            ("orders_create", {"number": "C1", "shop": scene.bens.shop_id}),
        ):
            done = result(name, scene.anna, **given)
            assert (done.status, "would not be among those" in done.content) == ("error", True)
        assert Order.objects.filter(shop=scene.bens.shop_id).get().note == ""
        assert Order.objects.get(pk=scene.first.pk).shop_id == scene.first.shop_id

    def test_the_row_is_locked_but_not_the_tables_it_is_joined_with(self, scene: Scene) -> None:
        with connection.execute_wrapper(_statements := Statements()):
            answer("orders_update", scene.anna, id=scene.first.pk, note="x")
        [locking] = [text for text in _statements.seen if "FOR UPDATE" in text]
        assert locking.endswith('FOR UPDATE OF "shop_order"')


class Statements:
    """The text of each statement."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        self.seen.append(sql)
        return execute(sql, *rest)


class TestPermission:
    @pytest.mark.parametrize("name", list(SPECS))
    def test_who_lacks_it_is_refused_at_the_call(self, scene: Scene, name: str) -> None:
        arguments: dict[str, dict[str, Any]] = {
            "orders_get": {"id": 1},
            "orders_update": {"id": 1, "note": "x"},
        }
        missing = {"orders_create": "add", "orders_update": "change"}.get(name, "view")
        other = person(*(set(ALL) - {missing}))
        for user in (other, None):
            done = result(name, user, **arguments.get(name, {}))
            sentence = (
                f"No person is behind this run, and {name} requires a person with the permission "
                f"shop.{missing}_order."
                if user is None
                else f"{user.username} may not use {name}: the permission shop.{missing}_order is "
                "missing."
            )
            assert done.content == f"ForbiddenError: {sentence}"

    def test_anyone_may_where_the_app_says_so(self, scene: Scene) -> None:
        @orm_tool(Order, fields=("number",), actions=("list",), anyone=True)
        def public(context: ToolContext) -> models.QuerySet[Order]:
            """Orders that anyone may read."""
            return Order.objects.order_by("number")

        [spec] = marked([public])
        assert spec.requires == ""
        found = spec.function(context(), {})
        assert [row["number"] for row in found["rows"]] == ["A1", "A2", "B1"]
