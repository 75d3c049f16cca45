"""OpenAPI documents: JSON or YAML from outside, read within limits. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urljoin

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.json_values import has_too_many
from heartbit_site.base.schema_references import referenced
from heartbit_site.base.untrusted import (
    MAX_JSON_DEPTH,
    UntrustedJSONError,
    clean_json,
    parse_untrusted_json,
)
from heartbit_site.base.web_url import split_web_url

MAX_BYTES: Final = 10_000_000
MAX_VALUES: Final = 400_000
MAX_YAML_BYTES: Final = 2_000_000  # a second of parsing each; JSON of this size takes 20 ms
_MAX_EVENTS: Final = 200_000
_MOST_HOPS: Final = 8  # references that lead to references
_VERSION: Final = re.compile(r"3\.[01](\.\d+)?(-.*)?")
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")

Table = Mapping[str, Any]


class OpenApiError(HeartbitError):
    """A document, or one of its operations, cannot be used."""


def parse_document(source: str | bytes) -> dict[str, Any]:
    """Return the content of an OpenAPI 3.0 or 3.1 document in JSON or YAML.

    Raises:
        OpenApiError: It is too large, not JSON or YAML, or no such document.
    """
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(data) > MAX_BYTES:
        raise OpenApiError(
            f"The document has {len(data):,} bytes: at most {MAX_BYTES:,} are accepted."
        )
    is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    try:
        content = _from_json(data) if is_json else _from_yaml(data)
    except UntrustedJSONError as error:
        raise OpenApiError(f"The document cannot be read. {error}") from None
    if not isinstance(content, dict):
        raise OpenApiError("The document is not an object of JSON or YAML.")
    if "swagger" in content:
        raise OpenApiError("The document is of Swagger 2.0: convert it to OpenAPI 3.")
    version = content.get("openapi")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise OpenApiError(
            'The document is not of OpenAPI 3.0 or 3.1, which begins with openapi: "3.1.0".'
        )
    if not isinstance(content.get("paths"), dict):
        raise OpenApiError("The document has no paths, and so no operations.")
    return content


def _from_json(data: bytes) -> Any:
    if has_too_many(data, MAX_VALUES):
        raise OpenApiError(f"The document has more than {MAX_VALUES:,} values.")
    return parse_untrusted_json(data, max_bytes=MAX_BYTES)


def _from_yaml(data: bytes) -> Any:
    import yaml  # noqa: PLC0415  few processes read a document

    if len(data) > MAX_YAML_BYTES:
        raise OpenApiError(
            f"The document has {len(data):,} bytes of YAML: at most {MAX_YAML_BYTES:,} are "
            "accepted; convert it to JSON."
        )
    text = data.decode("utf-8", "replace")
    fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, where PyYAML has it

    class Loader(fast):  # type: ignore[misc]  # chosen above
        """Loader without dates, and without yes and no as booleans, which JSON does not have."""

        yaml_implicit_resolvers = {  # noqa: RUF012  PyYAML's
            first: [
                (tag, pattern)
                for tag, pattern in found
                if not tag.endswith(":timestamp") and (tag.endswith(":bool") <= (first in "tTfF"))
            ]
            for first, found in fast.yaml_implicit_resolvers.items()
        }

    try:
        _check_events(yaml.parse(text, Loader=fast), yaml.AliasEvent)
        return clean_json(_with_text_names(yaml.load(text, Loader)))  # noqa: S506  a safe loader
    except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        why = str(getattr(error, "problem", None) or error)[:200].rstrip(".")
        raise OpenApiError(f"The document is neither JSON nor YAML{where}: {why}.") from None


def _check_events(events: Iterator[Any], alias: Any) -> None:
    """Refuse aliases, since a few lines of them stand for gigabytes, deep nesting and long texts.

    Raises:
        OpenApiError: The document has too much of them.
    """
    depth = 0
    for number, event in enumerate(events):
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if isinstance(event, alias):
            line = event.start_mark.line + 1
            raise OpenApiError(
                f"The document has an alias (*name) at line {line}, which is not accepted: convert "
                "it to JSON."
            )
        if number > _MAX_EVENTS or depth > MAX_JSON_DEPTH + 2:  # the stream and the document
            raise OpenApiError(
                f"The document has more than {_MAX_EVENTS:,} parts of YAML, or is nested deeper "
                f"than {MAX_JSON_DEPTH} levels."
            )


def _with_text_names(value: Any) -> Any:
    """Return a value whose names are text; YAML reads those of responses as numbers."""
    if isinstance(value, dict):
        return {str(name): _with_text_names(each) for name, each in value.items()}
    return [_with_text_names(each) for each in value] if isinstance(value, list) else value


def part_behind(part: Any, document: Table) -> Table:
    """Return an object of the document, or the one that its reference leads to.

    Raises:
        OpenApiError: It is not an object, or the reference leads nowhere, or out of the document.
    """
    for _ in range(_MOST_HOPS):
        if not isinstance(part, dict):
            break
        if not isinstance(reference := part.get("$ref"), str):
            return part
        part = referenced(inside(reference), document)
    raise OpenApiError("a part of it is not an object, or refers to none")


def inside(reference: str) -> str:
    """Return a reference into the document itself.

    Raises:
        OpenApiError: It leads elsewhere.
    """
    if not reference.startswith("#/"):
        raise OpenApiError(
            f"it refers to {reference[:100]!r}, which is not fetched: bundle the document into one "
            "file"
        )
    return reference


def server_url(document: Table, address: str) -> str:
    """Return the URL below which the API's paths are; empty if the document does not say.

    Args:
        document: The document.
        address: Where it was read, which a relative URL belongs to; empty: uploaded.
    """
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else {"url": "/"}
    url = first.get("url") if isinstance(first, dict) else None
    if not isinstance(url, str):
        return ""
    known = first.get("variables")
    variables = known if isinstance(known, dict) else {}

    def default(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        value = variable.get("default") if isinstance(variable, dict) else None
        return value if isinstance(value, str) else match[0]

    try:
        url = urljoin(address, _VARIABLE.sub(default, url)).rstrip("/")
    except ValueError:
        return ""
    parts = split_web_url(url)
    usable = parts is not None and url.isascii() and not any(mark in url for mark in "{}@?# ")
    return url if usable else ""
