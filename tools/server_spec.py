"""Settings of an MCP server: the one list of names, types, defaults, bounds and meaning. Pure.

Derived from ``McpServerSpec``: the checks of each row, ``[[mcp_servers]]`` of ``heartbit.toml`` and
the API's requests. Rules raise ``ValueError`` with the end of a sentence that begins with the
setting's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, ValidationError

from heartbit_site.base.spec import Spec
from heartbit_site.base.untrusted import clean_text
from heartbit_site.base.web_url import split_web_url
from tools.openapi.document import MAX_BYTES, OpenApiError, parse_document
from tools.texts.header_names import REFUSED_HEADERS

MOST_SECONDS: Final = 600
MOST_OPERATIONS: Final = 256
_TAKEN_HEADERS: Final = REFUSED_HEADERS | {"authorization", "content-type", "accept"}
MOST_CHARACTERS: Final = 24  # of a name: its tools' names, 64 at most, begin with it
_PHRASES: Final = {
    "value_error": "{error}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must have at most {max_length} characters",
}
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]*")
_NEITHER: Final = re.compile(r"[^a-z0-9]+")
_NAME: Final = re.compile(rf"[a-z][a-z0-9_]{{0,{MOST_CHARACTERS - 1}}}")


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f'is "{name[:64]}"; use lower-case letters, digits and underscores, at most '
            f"{MOST_CHARACTERS}, and begin with a letter"
        )
    return name


def _url(url: str) -> str:
    if not url:
        return url
    parts = split_web_url(url)
    if parts is None:
        raise ValueError("is not an http or https URL; write it like https://mcp.example.com/mcp")
    if "@" in parts.netloc or parts.fragment:
        raise ValueError(
            "contains a name, a password or a part that begins with #; leave them out: a "
            "credential has its own setting"
        )
    return url


def document_text(text: str) -> str:
    """Return an OpenAPI document as JSON on one line; an empty text stays.

    Raises:
        ValueError: It cannot be read; the end of a sentence.
    """
    if not text.strip():
        return ""
    try:
        return json.dumps(parse_document(text), ensure_ascii=False, separators=(",", ":"))
    except OpenApiError as error:
        message = str(error).removeprefix("The document ")
        raise ValueError(message.rstrip(".")) from None


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name) or name.lower() in _TAKEN_HEADERS:
        raise ValueError("is not a header that can be set; name one such as Idempotency-Key")
    return name


def _storable(text: str) -> str:
    if clean_text(text) != text:
        raise ValueError("contains a NUL character, which cannot be stored")
    return text


_STORABLE = AfterValidator(_storable)
ServerName = Annotated[str, AfterValidator(_name)]
OperationName = Annotated[str, Field(min_length=1, max_length=128), _STORABLE]


class McpServerSettings(Spec):
    """Settings of a server, except its name."""

    url: Annotated[str, Field(max_length=500), _STORABLE, AfterValidator(_url)] = Field(
        "",
        description="Address of a server that speaks HTTP, e.g. https://mcp.example.com/mcp. A "
        "host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST. Of an API with an OpenAPI "
        "document: where its paths begin; empty: as the document says.",
    )
    protocol: Literal["mcp", "a2a"] = Field(
        "mcp",
        description="Protocol at the URL: mcp, of a server of tools; a2a, of a remote agent, which "
        "is one tool; the URL is that of its card.",
    )
    command: Annotated[str, Field(max_length=64), _STORABLE] = Field(
        "",
        description="Name of a program in HEARTBIT_MCP_COMMANDS, which an administrator sets; "
        "instead of a URL.",
    )
    credential: Annotated[str, Field(max_length=64), _STORABLE] = Field(
        "",
        description="Name of a credential for the URL. A person's own credential of this name is "
        "used for their runs. Empty: none. If people sign in: name of the OAuth app to do so with.",
    )
    sign_in: bool = Field(
        default=False,
        description="People sign in to the server in the browser (OAuth). A call has the sign-in "
        "of the person behind it, or else the workspace's.",
    )
    openapi: Annotated[str, Field(max_length=500), _STORABLE, AfterValidator(_url)] = Field(
        "",
        description="Address of an OpenAPI document (3.0 or 3.1, JSON or YAML), whose operations "
        "become tools; instead of an MCP server.",
    )
    document: Annotated[
        str, Field(max_length=MAX_BYTES), _STORABLE, AfterValidator(document_text)
    ] = Field("", description="Text of an OpenAPI document; instead of its address.")
    operations: Annotated[list[OperationName], Field(max_length=MOST_OPERATIONS)] = Field(
        [],
        description="Operations of the OpenAPI document that are tools, by operationId, or by "
        "method and path (GET /pets).",
    )
    effects: dict[OperationName, Literal["pure", "idempotent", "at_most_once"]] = Field(
        {},
        description="Effects of operations whose method says another: GET is pure, PUT and DELETE "
        'are idempotent, POST and PATCH at_most_once. Such as {"updateIssue": "idempotent"}.',
    )
    idempotency_header: Annotated[str, Field(max_length=100), AfterValidator(_header)] = Field(
        "",
        description="Header by which the API knows a repeated call, sent with every call that has "
        "an effect. Empty: Idempotency-Key, for operations whose document names it.",
    )
    trusted: bool = Field(
        default=False,
        description="Believe the server's hints that a tool only reads, may be repeated, or "
        "reaches nothing beyond the server.",
    )
    private_data: bool = Field(
        default=True,
        description="The server has data of the workspace or of people, such as a mailbox or a "
        "database: once text by outsiders was read too, a call that sends data elsewhere waits for "
        "a person.",
    )
    shared: bool = Field(
        default=False,
        description="Outsiders write or read there, too, as in a mailbox, a ticket queue or a "
        "public repository: private data that came from it goes back to it only with a person's "
        "consent.",
    )
    timeout_seconds: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = Field(
        60, description="Seconds that one call may take."
    )
    enabled: bool = Field(default=True, description="A disabled server's tools are not called.")


class McpServerSpec(McpServerSettings):
    """All settings of a server; ``address_fault`` is the rule across several of them."""

    name: ServerName = Field(description="Its tools' names begin with it.")


#: Settings whose rule ``address_fault`` is.
ADDRESS: Final = (
    *("url", "command", "credential", "sign_in", "protocol"),
    *("openapi", "document"),
)
#: Settings of an API with an OpenAPI document alone.
OF_API: Final = ("openapi", "document", "operations", "effects", "idempotency_header")
#: Settings after whose change the tools are read again.
READ: Final = (*ADDRESS, "operations", "effects")
#: Settings that are columns of the same name.
SETTINGS: Final = tuple(McpServerSettings.model_fields)


def address_fault(
    url: object,
    command: object,
    credential: object,
    sign_in: object,
    protocol: object,
    openapi: object = "",
    document: object = "",
) -> tuple[str, str] | None:
    """Return a setting that conflicts with others, and the end of a sentence; None if none does."""
    if openapi and document:
        return "document", "is given together with openapi: keep one of them"
    if command and (url or openapi or document):
        other = "url" if url else "openapi" if openapi else "document"
        return "command", f"is given together with {other}: keep one of them"
    if not url and not command and not openapi and not document:
        return "url", "is missing (or command, for a program; or openapi, for an API)"
    if sign_in and (openapi or document):
        return "sign_in", "is for MCP servers: give an API a credential"
    if command and credential:
        return "credential", "requires url: a program is sent no requests"
    if command and sign_in:
        return "sign_in", "requires url: no one signs in to a program"
    if command and protocol == "a2a":
        return "protocol", "requires url: a remote agent is no program"
    if protocol == "a2a" and (openapi or document):
        return "protocol", "is of remote agents: leave it out for an API"
    return None


def transport_of(*, command: object, openapi: object, document: object) -> str:
    """Return the transport of a server with these settings, as its row has it."""
    return "stdio" if command else "openapi" if openapi or document else "http"


def program_fault(command: object, programs: Collection[str]) -> str:
    """Return the end of a sentence about a program that is not allowed; empty if it is.

    Args:
        command: The setting; other values than text are reported elsewhere.
        programs: Names in ``HEARTBIT_MCP_COMMANDS``.
    """
    if not isinstance(command, str) or not command or command in programs:
        return ""
    names = ", ".join(programs) or "none yet"
    return f'is "{command[:64]}", which is not a program of HEARTBIT_MCP_COMMANDS: {names}'


def first_fault(content: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a server's first invalid setting, and the end of a sentence; None if all are valid.

    Args:
        content: All settings of the server.
    """
    try:
        McpServerSpec.model_validate(content)
    except ValidationError as error:
        [details, *_] = error.errors(include_url=False)
        phrase = _PHRASES.get(details["type"], "is not valid: {msg}")
        words = {"msg": details["msg"], **details.get("ctx", {})}
        return str(details["loc"][0]), phrase.format(**words)
    return address_fault(*(content[name] for name in ADDRESS))


def tool_prefix(server: str) -> str:
    """Return the beginning of the names of a server's tools."""
    return _NEITHER.sub("_", server.lower()).strip("_") + "_"
