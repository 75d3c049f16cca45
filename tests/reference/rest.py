"""The REST API, from its OpenAPI document."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any, Final

from heartbit_site.api.mount import api
from tests.reference.markdown import table, text_of, type_of
from tests.reference.models import part

_OBJECTS: Final = "rest-objects.md"
_HEAD: Final = """# REST API

All operations, written from the OpenAPI document, which a server has at `/api/v1/openapi.json` with a page to try
them at `/api/v1/docs`. [The guide](../howto/rest-api.md) says how keys, pages of lists, idempotency and errors
work. Names in *italics* are the operation's id.
"""


@cache
def _document() -> dict[str, Any]:
    return dict(api.get_openapi_schema(path_prefix="/api/v1"))


def page() -> str:
    """Return the page of operations, by tag."""
    tagged = defaultdict(list)
    for path, methods in _document()["paths"].items():
        for method, operation in methods.items():
            tagged[operation["tags"][0]].append((method.upper(), path, operation))
    parts = [_HEAD]
    for tag, operations in sorted(tagged.items()):
        parts.append(f"\n## {tag.replace('_', ' ').capitalize()}\n")
        parts += [_operation(*one) for one in operations]
    return "".join(parts)


def objects() -> str:
    """Return the page of the objects that requests and responses are made of."""
    schemas = _document()["components"]["schemas"]
    return "# Objects of the REST API\n" + "".join(
        part(name, schema) for name, schema in sorted(schemas.items())
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    path = path.removeprefix("/api/v1")
    lines = [f"\n### `{method} {path}`\n\n{operation['summary']}"]
    description = operation.get("description", "").strip()
    lines.append(f". {description}" if description else ".")
    lines.append(f" *{operation['operationId']}*.\n{_body(operation)}")
    if parameters := operation.get("parameters"):
        lines.append("\n" + table("parameter, in, type, default, meaning", map(_row, parameters)))
    return "".join(lines)


def _row(parameter: dict[str, Any]) -> list[str]:
    schema = parameter["schema"]
    default = "required" if parameter["required"] else text_of(schema.get("default"))
    meaning = parameter.get("description", "")
    return [f"`{parameter['name']}`", parameter["in"], type_of(schema, _OBJECTS), default, meaning]


def _body(operation: dict[str, Any]) -> str:
    """Return the line on what is sent and what is answered."""
    found = []
    for schema in _contents(operation.get("requestBody", {})):
        found.append(f"Body: {type_of(schema, _OBJECTS)}.")
    for status, response in operation["responses"].items():
        if int(status) < 300:
            kinds = [type_of(schema, _OBJECTS) for schema in _contents(response)]
            found.append(f"Answer {status}: {', '.join(kinds) or 'nothing'}.")
    return f"\n{' '.join(found)}\n" if found else ""


def _contents(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [content["schema"] for content in part.get("content", {}).values()]
