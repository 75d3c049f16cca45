"""Operations of an OpenAPI document: their list, and each as a tool with its request. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from heartbit_site.base.toolspec import Effect
from tools.openapi.document import OpenApiError, Table, part_behind, server_url
from tools.openapi.schemas import SchemaReader
from tools.texts.header_names import REFUSED_HEADERS

MAX_OPERATIONS: Final = 3_000
MAX_PARAMETERS: Final = 100
MAX_TEXT: Final = 4_000
MAX_SUMMARY: Final = 200
BODY: Final = "body"
#: Header that makes a repeated request harmless, where a document names it.
IDEMPOTENCY_HEADER: Final = "idempotency-key"
_EFFECTS: Final = {
    **dict.fromkeys(("get", "head"), Effect.PURE),
    **dict.fromkeys(("put", "delete"), Effect.IDEMPOTENT),
    **dict.fromkeys(("post", "patch"), Effect.AT_MOST_ONCE),
}
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})  # as OpenAPI says
_STYLES: Final = {
    "path": ("simple",),
    "header": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
}
_FORM: Final = "application/x-www-form-urlencoded"
_JSON: Final = re.compile(r"(?i)application/([a-z0-9.+-]+\+)?json\s*(;.*)?|\*/\*")
_IN_PATH: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation of a document.

    Attributes:
        name: Its ``operationId``, or method and path where it has none of its own.
        item: The path's part of the document, with what its operations share.
    """

    name: str
    method: str
    path: str
    item: Table
    content: Table

    @property
    def request(self) -> str:
        """Method and path, such as ``GET /pets``."""
        return f"{self.method.upper()} {self.path}"

    @property
    def summary(self) -> str:
        """First line of what it does, in at most ``MAX_SUMMARY`` characters."""
        texts = (self.content.get("summary"), self.content.get("description"))
        text = next((text for text in texts if isinstance(text, str) and text.strip()), "")
        return text.strip().partition("\n")[0][:MAX_SUMMARY]

    @property
    def effect(self) -> Effect:
        """Effect class by its method."""
        return _EFFECTS[self.method]


@dataclass(frozen=True, slots=True)
class OperationTool:
    """An operation as a tool.

    Attributes:
        parameters: JSON Schema of its arguments.
        request: How they become a request, as ``tools.openapi.requests`` reads it.
    """

    description: str
    parameters: dict[str, Any]
    request: dict[str, Any]


def operations_of(document: Table) -> dict[str, ApiOperation]:
    """Return the operations of a document by name, in its order.

    Raises:
        OpenApiError: There are too many.
    """
    found = list(_operations(document))
    if len(found) > MAX_OPERATIONS:
        raise OpenApiError(f"The document has more than {MAX_OPERATIONS:,} operations.")
    ids = Counter(str(each.content.get("operationId")) for each in found)
    named = {}
    for each in found:
        own = each.content.get("operationId")
        is_own = isinstance(own, str) and own.strip() and ids[own] == 1 and len(own) <= 128
        name = own.strip() if is_own and isinstance(own, str) else each.request
        named[name] = ApiOperation(name, each.method, each.path, each.item, each.content)
    return named


def _operations(document: Table) -> Iterator[ApiOperation]:
    for path, item in document["paths"].items():
        if not isinstance(item, dict) or not path.startswith("/"):
            continue
        for method in _EFFECTS:
            if isinstance(content := item.get(method), dict):
                yield ApiOperation("", method, path, item, content)


def tool_of(operation: ApiOperation, document: Table, address: str) -> OperationTool:
    """Return an operation as a tool.

    Args:
        operation: The operation.
        document: The document that has it.
        address: Where the document was read; empty: uploaded.

    Raises:
        OpenApiError: Models cannot use it; the reason is the end of a sentence.
    """
    if operation.item.get("servers") or operation.content.get("servers"):
        raise OpenApiError("it has a server of its own, and calls go to the document's")
    reader = SchemaReader(document)
    parameters = _Parameters(reader)
    for parameter in _parameters(operation, document):
        parameters.add(parameter)
    body = _body(operation, document)
    if body is not None:
        kind, body_schema, is_required = body
        parameters.add_body(kind, body_schema, is_required=is_required)
    described = {each["name"] for each in parameters.request if each["in"] == "path"}
    if missing := set(_IN_PATH.findall(operation.path)) - described:
        raise OpenApiError(f"no parameter describes {{{min(missing)}}} of its path")
    schema: dict[str, Any] = {"type": "object", "properties": parameters.properties}
    if parameters.required:
        schema["required"] = parameters.required
    schema["additionalProperties"] = False
    if definitions := reader.definitions():
        schema["$defs"] = definitions
    request = {
        "method": operation.method.upper(),
        "server": server_url(document, address),
        "path": operation.path,
        "parameters": parameters.request,
        "body": "" if body is None else body[0],
        "idempotency_header": parameters.idempotency_header,
    }
    return OperationTool(_description(operation), schema, request)


def _description(operation: ApiOperation) -> str:
    texts = [operation.content.get("summary"), operation.content.get("description")]
    given = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    if operation.content.get("deprecated") is True:
        given.append("Deprecated.")
    return "\n\n".join(dict.fromkeys(given))[:MAX_TEXT] or operation.request


def _parameters(operation: ApiOperation, document: Table) -> Iterator[Table]:
    """Yield the parameters of an operation and of its path that the caller has to give."""
    found: dict[tuple[str, str], Table] = {}
    for place in (operation.item, operation.content):
        listed = place.get("parameters") or []
        if not isinstance(listed, list) or len(listed) > MAX_PARAMETERS:
            raise OpenApiError(f"its parameters are not a list of at most {MAX_PARAMETERS}")
        for each in listed:
            parameter = part_behind(each, document)
            name, where = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not isinstance(where, str):
                raise OpenApiError("one of its parameters has no name or no place")
            found[where, name] = parameter
    keys = set(_keys(document))
    for (where, name), parameter in found.items():
        if (where, name.lower()) not in keys and not (
            where == "header" and name.lower() in _OWN_HEADERS
        ):
            yield parameter


def _keys(document: Table) -> Iterator[tuple[str, str]]:
    """Yield the places and names of the document's API keys, which no model gives."""
    for scheme in security_schemes(document).values():
        if scheme.get("type") == "apiKey":
            yield str(scheme.get("in")), str(scheme.get("name")).lower()


def security_schemes(document: Table) -> dict[str, Table]:
    """Return the document's ways to authenticate, by name; unreadable ones are left out."""
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    known = schemes if isinstance(schemes, dict) else {}
    return {name: scheme for name, scheme in known.items() if isinstance(scheme, dict)}


def _body(operation: ApiOperation, document: Table) -> tuple[str, Any, bool] | None:
    """Return the kind of an operation's body, its schema, and True if it is required."""
    given = operation.content.get("requestBody")
    if given is None or operation.method in ("get", "head"):
        return None
    body = part_behind(given, document)
    content = body.get("content")
    types = content if isinstance(content, dict) else {}
    is_required = body.get("required") is True
    for kind, is_fitting in (("json", _JSON.fullmatch), ("form", _is_form)):
        for name, media in types.items():
            if is_fitting(name) and isinstance(media, dict):
                return kind, media.get("schema", {}), is_required
    if not is_required:
        return None
    raise OpenApiError(f"it takes a body of {', '.join(types)[:100]}, and models send JSON")


def _is_form(media_type: str) -> bool:
    return media_type.lower().partition(";")[0].strip() == _FORM


class _Parameters:
    """Arguments of a tool, collected from the parameters and the body of an operation."""

    def __init__(self, reader: SchemaReader) -> None:
        self._reader = reader
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.request: list[dict[str, Any]] = []
        self.idempotency_header = ""

    def add(self, parameter: Table) -> None:
        """Add a parameter.

        Raises:
            OpenApiError: It is required, and cannot be given.
        """
        name, where = parameter["name"], parameter["in"]
        is_required = parameter.get("required") is True or where == "path"
        if where == "header" and name.lower() == IDEMPOTENCY_HEADER:
            self.idempotency_header = name
            return
        styles = _STYLES.get(where, ())
        style = parameter.get("style", styles[0] if styles else "")
        if style not in styles or (where == "header" and name.lower() in REFUSED_HEADERS):
            if not is_required:
                return
            raise OpenApiError(f"its parameter {name[:60]} in {where} ({style}) cannot be sent")
        content = parameter.get("content")
        schema = parameter.get("schema", {})
        if isinstance(content, dict):  # one type of text, in which the value is written
            schema = next(
                (x.get("schema", {}) for x in content.values() if isinstance(x, dict)), {}
            )
        one = {"name": name, "in": where, "argument": self._free(name, where), "style": style}
        one["explode"] = parameter.get("explode", style == "form") is True
        one["is_json"] = isinstance(content, dict)
        one["keeps_reserved"] = where == "query" and parameter.get("allowReserved") is True
        self.request.append(one)
        self._put(one["argument"], schema, parameter.get("description"), is_required=is_required)

    def add_body(self, kind: str, schema: Any, *, is_required: bool) -> None:
        """Add the body, as one argument."""
        text = "Body of the request." if kind == "json" else "Fields of the form that is sent."
        self._put(self._free(BODY, "content"), schema, text, is_required=is_required)

    def _free(self, name: str, where: str) -> str:
        """Return a name for an argument: its own, or with its place if that is taken."""
        if name == BODY and where != "content":
            name = f"{BODY}_{where}"
        while name in self.properties:
            name = f"{name}_{where}"
        return name

    def _put(self, argument: str, schema: Any, text: Any, *, is_required: bool) -> None:
        read = self._reader.read(schema)
        if isinstance(read, dict) and isinstance(text, str) and text.strip():
            read = {"description": text.strip()[:MAX_TEXT], **read}
        self.properties[argument] = read
        if is_required:
            self.required.append(argument)
