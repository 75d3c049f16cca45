"""Arguments as requests, in the styles of OpenAPI."""

from __future__ import annotations

from typing import Any

import pytest

from tools.openapi.document import OpenApiError
from tools.openapi.requests import build_request

COLOURS = ["blue", "b&w"]
BOX = {"r": 1, "g": "a b", "none": None}


def target(value: Any, **parameter: Any) -> str:
    each = {"name": "c", "in": "query", "argument": "a", "style": "form", "explode": True,
            "is_json": False, "keeps_reserved": False} | parameter  # fmt: skip
    plan = {"method": "GET", "server": "https://a.example/v1/", "parameters": [each], "body": ""}
    path = {"path": "/x/{c}" if each["in"] == "path" else "/x"}
    request = build_request(plan | path, "", {"a": value})
    if each["in"] == "header":
        return request.headers["c"]
    return request.url.removeprefix("https://a.example/v1")


@pytest.mark.parametrize(
    ("value", "parameter", "expected"),
    [
        ("a/b?", {}, "/x?c=a%2Fb%3F"),
        ("a/b?&", {"keeps_reserved": True}, "/x?c=a/b?%26"),
        (True, {}, "/x?c=true"),
        (None, {}, "/x"),
        (1.5, {}, "/x?c=1.5"),
        ("", {}, "/x?c="),
        (COLOURS, {}, "/x?c=blue&c=b%26w"),
        (COLOURS, {"explode": False}, "/x?c=blue,b%26w"),
        (COLOURS, {"explode": False, "style": "spaceDelimited"}, "/x?c=blue%20b%26w"),
        (COLOURS, {"explode": False, "style": "pipeDelimited"}, "/x?c=blue%7Cb%26w"),
        ([], {"explode": False}, "/x"),
        (BOX, {}, "/x?r=1&g=a%20b"),
        (BOX, {"explode": False}, "/x?c=r,1,g,a%20b"),
        (BOX, {"style": "deepObject", "name": "c[d]"}, "/x?c[d][r]=1&c[d][g]=a%20b"),
        ({"r": [1]}, {"is_json": True}, "/x?c=%7B%22r%22%3A%5B1%5D%7D"),
        ("é/..", {"in": "path", "style": "simple"}, "/x/%C3%A9%2F.."),
        (COLOURS, {"in": "path", "style": "simple"}, "/x/blue,b%26w"),
        ({"r": 1, "g": 2}, {"in": "path", "explode": False}, "/x/r,1,g,2"),
        ({"r": 1, "g": 2}, {"in": "path"}, "/x/r=1,g=2"),
        ("a b", {"in": "header", "name": "C"}, "a b"),
        (COLOURS, {"in": "header"}, "blue,b&w"),
        ("\ud800", {}, "/x?c=%3F"),
    ],
)
def test_values_are_written_in_their_style(value: Any, parameter: Any, expected: str) -> None:
    assert target(value, **parameter) == expected


@pytest.mark.parametrize(
    ("value", "parameter", "sentence"),
    [
        ("..", {"in": "path"}, "a is '..', which would call another path."),
        ("", {"in": "path"}, "a is '', which would call another path."),
        ("a\r\nb: c", {"in": "header"}, "a has characters that a header cannot carry."),
        ("é", {"in": "header"}, "a has characters that a header cannot carry."),
    ],
)
def test_values_that_cannot_be_sent_are_refused(value: Any, parameter: Any, sentence: str) -> None:
    with pytest.raises(OpenApiError) as refused:
        target(value, **parameter)
    assert str(refused.value) == sentence


def test_bodies_are_json_or_the_fields_of_a_form() -> None:
    plan = {"method": "POST", "server": "", "path": "/x", "parameters": [], "body": "json"}
    with pytest.raises(OpenApiError, match="does not say where the API is"):
        build_request(plan, "", {})
    made = build_request(plan, "https://b.example/", {"body": {"a": "é"}})
    assert (made.url, made.content) == ("https://b.example/x", '{"a":"é"}'.encode())
    assert build_request(plan, "https://b.example", {}).content is None
    form = build_request(
        plan | {"body": "form"},
        "https://b.example",
        {"body": {"a": [{"b": 1}, "c d"], "x&": None, "t": True}},
    )
    assert form.content == b"a[0][b]=1&a[1]=c%20d&x%26=&t=true"
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"
    with pytest.raises(OpenApiError, match="not an object"):
        build_request(plan | {"body": "form"}, "https://b.example", {"body": 5})
