"""Requests to APIs: a tool's arguments as method, URL, headers and body. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from tools.openapi.document import OpenApiError

_SEPARATORS: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_RESERVED: Final = ":/?[]@!$'()*,;"  # without what would begin another part: # & + =
_IN_PATH: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request, without a credential.

    Attributes:
        headers: By names in lower case.
    """

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


def build_request(plan: Mapping[str, Any], base: str, arguments: Mapping[str, Any]) -> ApiRequest:
    """Return the request of a call.

    Args:
        plan: ``OperationTool.request`` of the tool.
        base: URL that is used in place of the document's; empty: the document's.
        arguments: Checked arguments of the call.

    Raises:
        OpenApiError: An argument cannot be sent where it belongs; or there is no URL.
    """
    server = (base or plan["server"]).rstrip("/")
    if not server:
        raise OpenApiError("The document does not say where the API is: a person must set its URL.")
    path: dict[str, str] = {}
    query: list[str] = []
    headers = {"accept": "application/json, text/*;q=0.9, */*;q=0.5"}
    for each in plan["parameters"]:
        value = arguments.get(each["argument"])
        if value is None:
            continue
        if each["is_json"]:
            value = _json(value)
        if each["in"] == "path":
            path[each["name"]] = _segment(each, value)
        elif each["in"] == "header":
            headers[each["name"].lower()] = _header(each, value)
        else:
            query += _pairs(each, value)
    filled = _IN_PATH.sub(lambda match: path.get(match[1], ""), plan["path"])
    url = server + quote(filled, safe="/%:@!$&'()*+,;=~")
    if query:
        url += "?" + "&".join(query)
    content = None
    body = arguments.get("body")
    if plan["body"] and body is not None:
        is_json = plan["body"] == "json"
        text = _json(body) if is_json else "&".join(_fields(body))
        content = text.encode("utf-8", "replace")
        kind = "json" if is_json else "x-www-form-urlencoded"
        headers["content-type"] = f"application/{kind}"
    return ApiRequest(plan["method"], url, headers, content)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str:
    """Return a single value as text; JSON where it is not single."""
    if isinstance(value, str):
        return value
    return "" if value is None else _json(value)


def _quoted(value: Any, safe: str = "") -> str:
    return quote(_text(value).encode("utf-8", "replace"), safe=safe)


def _simple(each: Mapping[str, Any], value: Any, write: Callable[[Any], str]) -> str:
    """Return a value in the style ``simple``."""
    if isinstance(value, dict):
        mark = "=" if each["explode"] else ","
        return ",".join(f"{write(key)}{mark}{write(one)}" for key, one in value.items())
    return ",".join(map(write, value if isinstance(value, list) else [value]))


def _segment(each: Mapping[str, Any], value: Any) -> str:
    segment = _simple(each, value, _quoted)
    if segment in ("", ".", ".."):
        raise OpenApiError(f"{each['argument']} is {segment!r}, which would call another path.")
    return segment


def _header(each: Mapping[str, Any], value: Any) -> str:
    text = _simple(each, value, _text)
    if not text.isascii() or not text.isprintable():
        raise OpenApiError(f"{each['argument']} has characters that a header cannot carry.")
    return text


def _pairs(each: Mapping[str, Any], value: Any) -> Iterator[str]:
    """Yield the parts of the query that give a parameter."""
    safe = _RESERVED if each["keeps_reserved"] else ""
    name, style = quote(each["name"], safe="[]"), each["style"]
    if isinstance(value, dict):
        found = {key: _quoted(one, safe) for key, one in value.items() if one is not None}
        if style == "deepObject":
            yield from (f"{name}[{quote(key, safe='')}]={one}" for key, one in found.items())
        elif each["explode"]:
            yield from (f"{quote(key, safe='')}={one}" for key, one in found.items())
        else:
            yield f"{name}=" + ",".join(f"{quote(k, safe='')},{one}" for k, one in found.items())
    elif isinstance(value, list):
        values = [_quoted(one, safe) for one in value]
        if each["explode"]:
            yield from (f"{name}={one}" for one in values)
        elif values:
            yield f"{name}={_SEPARATORS.get(style, ',').join(values)}"
    else:
        yield f"{name}={_quoted(value, safe)}"


def _fields(value: Any, name: str = "") -> Iterator[str]:
    """Yield the fields of a form; what is inside others is named in brackets: ``a[b]``, ``a[0]``.

    Raises:
        OpenApiError: The form is not an object.
    """
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in items:
            inner = quote(str(key), safe="")
            yield from _fields(one, f"{name}[{inner}]" if name else inner)
    elif not name:
        raise OpenApiError("The form's fields are not an object.")
    else:
        yield f"{name}={_quoted(value)}"
