"""Read an API's OpenAPI document, and offer its picked operations as tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import httpx

from heartbit_site.base import amounts
from heartbit_site.base.toolspec import Effect
from tools.mcp.listing import Offer, fault_of
from tools.openapi.document import OpenApiError, Table, parse_document
from tools.openapi.operations import ApiOperation, operations_of, security_schemes, tool_of

if TYPE_CHECKING:
    from tools.models import McpServer

_MOST_SCHEMES: Final = 10
_ACCEPT: Final = "application/json, application/yaml, text/*;q=0.9, */*;q=0.5"


async def read_api(
    server: McpServer, http: httpx.AsyncClient, say: Callable[[str], None]
) -> tuple[Offer, dict[str, str]]:
    """Return the tools of an API's picked operations, all its operations, and facts about it.

    The document is fetched without a credential, as it may be anyone's.

    Args:
        server: The API's row, stored or not.
        http: The guarded client.
        say: Receives sentences about the progress.

    Raises:
        OpenApiError: The document cannot be fetched or read.
    """
    source: str | bytes = server.document
    address = ""
    if server.openapi:
        say("Fetching the document.")
        source, address = await _fetched(server.openapi, http)
    document = parse_document(source)
    operations = operations_of(document)
    say(f"The document has {amounts.counted(len(operations), 'operation')}.")
    offer = Offer({}, {}, operations=[_shown(each) for each in operations.values()])
    by_request = {each.request: each for each in operations.values()}
    for name in server.operations:
        operation = operations.get(name) or by_request.get(name)
        if operation is None:
            offer.left_out[name] = "the document has no such operation"
        elif operation.name not in offer.tools:
            spellings = (name, operation.name, operation.request)
            effects = (server.effects[each] for each in spellings if each in server.effects)
            effect = Effect(next(effects, operation.effect))
            _take(offer, operation, document, address, effect)
    return offer, _facts(document)


async def _fetched(address: str, http: httpx.AsyncClient) -> tuple[bytes, str]:
    """Return the content behind an address, and the address at which it was in the end."""
    try:
        response = await http.get(address, headers={"accept": _ACCEPT})
    except httpx.HTTPError as error:
        raise OpenApiError(f"The document cannot be fetched: {error}.") from error
    if not response.is_success:
        status = f"{response.status_code} {response.reason_phrase}".strip()
        raise OpenApiError(f"The document cannot be fetched: the server answered {status}.")
    return response.content, str(response.url)


def _take(
    offer: Offer, operation: ApiOperation, document: Table, address: str, effect: Effect
) -> None:
    """Add an operation to the offer, or the reason why models cannot use it."""
    try:
        found = tool_of(operation, document, address)
    except OpenApiError as error:
        offer.left_out[operation.name] = str(error)
        return
    import mcp_types  # noqa: PLC0415  every process imports this module, and few read a document

    hints = mcp_types.ToolAnnotations(
        read_only_hint=effect is Effect.PURE,
        idempotent_hint=effect is Effect.IDEMPOTENT,
        open_world_hint=False,
    )
    tool = mcp_types.Tool(
        name=operation.name,
        description=found.description,
        input_schema=found.parameters,
        annotations=hints,
    )
    if fault := fault_of(tool):
        offer.left_out[operation.name] = fault
    else:
        offer.tools[operation.name] = tool
        offer.requests[operation.name] = found.request


def _shown(operation: ApiOperation) -> dict[str, str]:
    return {
        "operation": operation.name,
        "request": operation.request,
        "summary": operation.summary,
        "effect": operation.effect.value,
    }


def _facts(document: Table) -> dict[str, str]:
    about: Any = document.get("info")
    info = about if isinstance(about, dict) else {}
    schemes = list(map(_scheme, security_schemes(document).values()))[:_MOST_SCHEMES]
    facts = {
        "server": str(info.get("title", ""))[:200],
        "version": str(info.get("version", ""))[:100],
        "protocol": f"OpenAPI {document['openapi']}"[:40],
        "credentials": " or ".join(dict.fromkeys(schemes)),
    }
    return {name: text for name, text in facts.items() if text}


def _scheme(scheme: Table) -> str:
    """Return a way to authenticate in the words of the types of credentials."""
    kind, way = str(scheme.get("type")), str(scheme.get("scheme", "")).lower()
    match kind, scheme.get("in"):
        case "apiKey", "header":
            return f"an API key in the header {str(scheme.get('name'))[:100]}"
        case "apiKey", "query":
            return f"an API key in the query parameter {str(scheme.get('name'))[:100]}"
        case "http", _ if way == "basic":
            return "a name and a password (HTTP Basic)"
        case "http", _ if way == "bearer":
            return "a bearer token"
        case "oauth2" | "openIdConnect", _:
            return "a bearer token, or an OAuth 2 client"
    return f"{kind} {way or scheme.get('in', '')}"[:100].strip() + " (not supported)"
