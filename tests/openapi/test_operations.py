"""Operations as tools: schemas that models take, and the reasons of what they cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heartbit_site.base.jsonschema import check_schema, validate
from heartbit_site.base.toolspec import Effect
from tests.openapi.server import document
from tools.openapi.document import OpenApiError, parse_document
from tools.openapi.operations import OperationTool, operations_of, tool_of


def tool(name: str, operation: str) -> OperationTool:
    read = parse_document(document(name))
    made = tool_of(operations_of(read)[operation], read, "https://docs.example/api.json")
    check_schema(made.parameters)
    return made


def of_schema(schema: Any, *, version: str = "3.1.0", **components: Any) -> dict[str, Any]:
    """Parameters of an operation whose body has this schema."""
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    content = {
        "openapi": version,
        "paths": {"/x": {"post": {"operationId": "x", "requestBody": body}}},
        "components": {"schemas": components},
    }
    read = parse_document(json.dumps(content))
    made = tool_of(operations_of(read)["x"], read, "")
    check_schema(made.parameters)
    return made.parameters


def test_parameters_of_path_and_operation_are_joined_with_their_references() -> None:
    listed = tool("issues.yaml", "issues/list")
    assert listed.description == "List the issues of a repository"
    assert listed.parameters["properties"] == {
        "owner": {"description": "Account of the repository.", "type": "string"},
        "repo": {"type": "string"},
        "labels": {
            "description": "Names of labels that an issue has to have.",
            "type": "array",
            "items": {"type": "string"},
        },
        "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
        "per_page": {"type": "integer", "maximum": 100, "exclusiveMinimum": 0},
        "X-Api-Version": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
    }
    assert listed.parameters["required"] == ["owner", "repo"]
    assert listed.parameters["additionalProperties"] is False
    assert listed.request["server"] == "https://api.issues.example/v3"


def test_the_body_is_one_argument_without_what_only_answers_have() -> None:
    created = tool("issues.yaml", "createIssue").parameters
    assert created["properties"]["body"] == {
        "description": "Body of the request.",
        "$ref": "#/$defs/NewIssue",
    }
    assert created["$defs"]["NewIssue"]["allOf"][1] == {
        "type": "object",
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "minLength": 1},
            "body": {"type": ["string", "null"]},
            "priority": {"type": ["string", "null"], "enum": ["low", "high", None]},
            "assignee": {"anyOf": [{"allOf": [{"$ref": "#/$defs/Person"}]}, {"type": "null"}]},
        },
    }
    assert created["$defs"]["Numbered"] == {"type": "object", "required": [], "properties": {}}
    person = {"login": "a", "reports_to": {"login": "b", "reports_to": {"login": "c"}}}
    arguments = {"owner": "o", "repo": "r", "body": {"title": "t", "assignee": person}}
    assert validate(created, arguments) == []
    person["reports_to"] = {"login": 5}
    assert validate(created, arguments) != []


def test_keys_and_cookies_are_not_asked_of_the_model() -> None:
    forecast = tool("weather.json", "getForecast")
    assert "appid" not in forecast.parameters["properties"]
    assert forecast.parameters["required"] == ["q"]
    assert forecast.parameters["properties"]["days"]["type"] == ["integer", "null"]
    assert forecast.request["server"] == "https://docs.example/data/2.5"
    alerts = tool("weather.json", "getAlerts").parameters["properties"]
    assert alerts == {"region": {"type": "string"}}  # its pattern cannot be checked here
    charge = tool("payments.yaml", "CreateCharge")
    assert list(charge.parameters["properties"]) == ["body"]
    assert charge.request["idempotency_header"] == "Idempotency-Key"
    assert charge.request["body"] == "form"


@pytest.mark.parametrize(
    ("name", "operation", "reason"),
    [
        ("issues.yaml", "uploadLogo", "it takes a body of image/png, and models send JSON"),
        ("weather.json", "muteAlerts", "'elsewhere.json#/parameters/region', which is not fetched"),
        ("payments.yaml", "cancelRefund", "it has a server of its own"),
    ],
)
def test_what_models_cannot_use_has_a_reason(name: str, operation: str, reason: str) -> None:
    with pytest.raises(OpenApiError, match=reason):
        tool(name, operation)


def test_effects_follow_the_method() -> None:
    item: dict[str, Any] = {
        method: {} for method in ("get", "head", "put", "delete", "post", "patch", "options")
    }
    read = parse_document(json.dumps({"openapi": "3.0.0", "paths": {"/x": item}}))
    assert {each.request: each.effect for each in operations_of(read).values()} == {
        "GET /x": Effect.PURE,
        "HEAD /x": Effect.PURE,
        "PUT /x": Effect.IDEMPOTENT,
        "DELETE /x": Effect.IDEMPOTENT,
        "POST /x": Effect.AT_MOST_ONCE,
        "PATCH /x": Effect.AT_MOST_ONCE,
    }


def test_operations_that_share_an_id_are_named_by_their_requests() -> None:
    paths = {
        "/a": {"get": {"operationId": "same"}, "post": {"operationId": ""}},
        "/b": {"get": {"operationId": "same"}, "put": {"operationId": 5}, "trace": {}},
        "/c": {"get": {"operationId": "x" * 200}, "parameters": []},
        "x-note": {"get": {}},
        "/d": None,
    }
    read = parse_document(json.dumps({"openapi": "3.0.0", "paths": paths}))
    assert list(operations_of(read)) == ["GET /a", "POST /a", "GET /b", "PUT /b", "GET /c"]


def test_arguments_with_the_same_name_are_kept_apart() -> None:
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "id", "in": "query", "schema": {"type": "string"}},
        {"name": "body", "in": "query"},
        {"name": "id", "in": "header", "schema": True},
        {"name": "Host", "in": "header"},
        {"name": "Accept", "in": "header", "required": True},
    ]
    body = {"content": {"text/plain": {}, "application/json": {"schema": {"type": "object"}}}}
    operation = {"parameters": parameters, "requestBody": body}
    read = parse_document(
        json.dumps({"openapi": "3.1.0", "paths": {"/x/{id}": {"post": operation}}})
    )
    made = tool_of(operations_of(read)["POST /x/{id}"], read, "")
    names = ["id", "id_query", "body_query", "id_header", "body"]
    assert list(made.parameters["properties"]) == names
    assert made.parameters["required"] == ["id"]


def test_schemas_that_refer_to_themselves_stay_finite() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    made = of_schema({"$ref": "#/components/schemas/Node"}, Node=node)
    assert list(made["$defs"]) == ["Node"]
    ring = {"$ref": "#/components/schemas/Ring"}
    assert validate(of_schema(ring, Ring=ring), {"body": 1}) == []
    every: Any = {f"S{n}": {"anyOf": [{"$ref": f"#/components/schemas/S{m}"} for m in range(9)]}
             for n in range(9)}  # fmt: skip
    made = of_schema({"$ref": "#/components/schemas/S0"}, **every)
    assert len(made["$defs"]) == 9
    validate(made, {"body": {"a": [1] * 50}})  # ends


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "https://evil.example/schema.json"}, "which is not fetched"),
        ({"$ref": "file:///etc/passwd"}, "which is not fetched"),
        ({"$ref": "#/components/schemas/None"}, "leads nowhere"),
        ({"properties": {"a": 5}}, "one of its schemas is not an object"),
        ({"items": [{}]}, "one of its schemas is not an object"),
        ({"anyOf": [{}] * 6_000}, "its schemas have more than 5,000 parts"),
    ],
)
def test_schemas_that_cannot_be_read_have_a_reason(schema: Any, reason: str) -> None:
    with pytest.raises(OpenApiError, match=reason):
        of_schema(schema)


def test_a_chain_of_many_references_is_refused() -> None:
    chain: Any = {
        f"S{n}": {"items": {"$ref": f"#/components/schemas/S{n + 1}"}} for n in range(300)
    }
    with pytest.raises(OpenApiError, match="more than 200 schemas"):
        of_schema({"$ref": "#/components/schemas/S0"}, **chain, S300={})


def test_what_30_says_otherwise_is_translated_and_31_is_kept() -> None:
    old = {"type": "number", "minimum": 1, "exclusiveMinimum": True, "exclusiveMaximum": False,
           "nullable": True, "example": 5, "x-order": 1, "required": True}  # fmt: skip
    read = of_schema({"properties": {"a": old}}, version="3.0.3")["properties"]["body"]
    assert read["properties"]["a"] == {"type": ["number", "null"], "exclusiveMinimum": 1}
    beside = {"$ref": "#/components/schemas/A", "description": "Mine.", "nullable": True}
    old_body = of_schema({"properties": {"a": beside}}, version="3.0.3", A={"type": "string"})
    assert old_body["properties"]["body"]["properties"]["a"] == {"$ref": "#/$defs/A"}
    new_body = of_schema({"properties": {"a": beside}}, A={"type": "string"})
    assert new_body["properties"]["body"]["properties"]["a"] == {
        "$ref": "#/$defs/A",
        "description": "Mine.",
    }
