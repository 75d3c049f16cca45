"""Documents from outside: read within limits, or refused with one sentence."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.openapi.server import document
from tools.openapi.document import MAX_BYTES, OpenApiError, parse_document, server_url
from tools.openapi.operations import MAX_OPERATIONS, operations_of
from tools.server_spec import document_text

HEAD = 'openapi: "3.1.0"\ninfo: {title: t, version: "1"}\n'


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        (
            "issues.yaml",
            [
                "issues/list",
                "createIssue",
                "GET /repos/{owner}/{repo}/issues/{number}",
                "updateIssue",
                "uploadLogo",
            ],
        ),
        ("weather.json", ["getForecast", "getAlerts", "muteAlerts"]),
        ("payments.yaml", ["CreateCharge", "getCharge", "cancelRefund"]),
    ],
)
def test_documents_in_yaml_and_json_are_read(name: str, operations: list[str]) -> None:
    read = parse_document(document(name))
    assert list(operations_of(read)) == operations
    assert parse_document(document_text(document(name))) == read
    assert document_text(document_text(document(name))) == document_text(document(name))


def test_yaml_is_read_as_json_has_it() -> None:
    text = f"{HEAD}x: {{on: yes, day: 2026-01-02, no: [off, true], 200: 1_0}}\npaths: {{}}\n"
    found = parse_document(text)["x"]
    assert found == {"on": "yes", "day": "2026-01-02", "no": ["off", True], "200": 10}


LAUGHS = "\n".join(
    [f"{HEAD}a0: &a0 [ha, ha]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The document is not an object of JSON or YAML."),
        ("just words", "The document is not an object of JSON or YAML."),
        ("[1, 2]", "The document is not an object of JSON or YAML."),
        ("{", "The document cannot be read. The JSON is malformed at line 1, column 2"),
        ('{"a": 1, "a": 2}', "names 'a' more than once"),
        ("{" * 100_000, "nested too deeply"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ("a: [1", "The document is neither JSON nor YAML at line 2: did not find expected"),
        ("a: !!python/object:os.system x", "neither JSON nor YAML at line 1: could not determine"),
        ("a: " + "9" * 5_000, "neither JSON nor YAML"),
        ("? [a]\n: b", "neither JSON nor YAML at line 1: "),
        ("a: .nan\nb: \x07", "neither JSON nor YAML"),
        (LAUGHS, "has an alias (*name) at line 4, which is not accepted: convert it to JSON."),
        ('swagger: "2.0"', "is of Swagger 2.0: convert it to OpenAPI 3."),
        ("openapi: 3.1", "is not of OpenAPI 3.0 or 3.1"),
        ('openapi: "4.0.0"\npaths: {}', "is not of OpenAPI 3.0 or 3.1"),
        (HEAD, "has no paths"),
        ("a: 1\n" * 500_000, "bytes of YAML: at most 2,000,000 are accepted; convert it to JSON."),
        ("- a\n" * 300_000, "more than 200,000 parts of YAML"),
        ('{"a": [' + "1," * 500_000 + "1]}", "more than 400,000 values"),
        ("x" * (MAX_BYTES + 1), "has 10,000,001 bytes: at most 10,000,000 are accepted."),
    ],
)
def test_what_is_no_usable_document_is_refused_soon(text: str, sentence: str) -> None:
    began = time.process_time()
    with pytest.raises(OpenApiError) as refused:
        parse_document(text)
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 400
    assert time.process_time() - began < 5


def test_too_many_operations_are_refused() -> None:
    paths: Any = {f"/p{number}": {"get": {}} for number in range(MAX_OPERATIONS + 1)}
    with pytest.raises(OpenApiError, match="more than 3,000 operations"):
        operations_of(parse_document(json.dumps({"openapi": "3.0.0", "paths": paths})))


@pytest.mark.parametrize(
    ("servers", "address", "url"),
    [
        ('[{"url": "https://a.example/v1/"}]', "", "https://a.example/v1"),
        ('[{"url": "/v1"}]', "https://b.example/docs/api.json", "https://b.example/v1"),
        ('[{"url": "v1"}]', "https://b.example/docs/api.json", "https://b.example/docs/v1"),
        ('[{"url": "/v1"}]', "", ""),
        ("[]", "https://b.example/docs/api.json", "https://b.example"),
        ('[{"url": "https://{host}/v1", "variables": {"host": {"default": "c.example"}}}]', "",
         "https://c.example/v1"),
        ('[{"url": "https://{host}/v1"}]', "", ""),
        ('[{"url": "https://{host}/v1", "variables": {"host": {"default": "a@b"}}}]', "", ""),
        ('[{"url": "https://user:key@a.example"}]', "", ""),
        ('[{"url": "file:///etc/passwd"}]', "", ""),
        ('[{"url": "https://a.example/?key=1"}]', "", ""),
        ('[{"url": "http://[::1"}]', "", ""),
        ('[{"url": 5}]', "", ""),
        ('["https://a.example"]', "", ""),
    ],
)  # fmt: skip
def test_the_server_is_that_of_the_document(servers: str, address: str, url: str) -> None:
    text = f'{{"openapi": "3.1.0", "paths": {{}}, "servers": {servers}}}'
    assert server_url(parse_document(text), address) == url
