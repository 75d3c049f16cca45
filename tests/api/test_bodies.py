"""What nobody should send: always a sentence with 4xx, never a defect."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from heartbit_site.web_server.bodies import limit_for
from tests.web.matrix_routes import ROUTES

if TYPE_CHECKING:
    import httpx

    from tests.api.server import Caller

TOO_LARGE = 413
BODIES = {
    "empty": (b"", 422),
    "not JSON": (b"task=x", 400),
    "cut": (b'{"task": "x', 400),
    "an array": (b"[1, 2]", 422),
    "a number": (b"7", 422),
    "null": (b"null", 422),
    "bad UTF-8": (b'{"task": "\xff\xfe"}', 400),
    "UTF-16": ('{"task": "x"}'.encode("utf-16"), 400),
    "raw NUL": (b'{"task": "a\x00b"}', 400),
    "escaped NUL": (b'{"task": "a\\u0000b"}', 400),
    "NUL in a name": (b'{"task": "x", "a\\u0000": 1}', 400),
    "half a surrogate": (b'{"task": "\\ud800"}', 400),
    "a name twice": (b'{"task": "x", "task": "y"}', 400),
    "NaN": (b'{"task": "x", "priority": NaN}', 400),
    "a huge number": (b'{"task": "x", "priority": ' + b"9" * 5000 + b"}", 400),
    "a float too large": (b'{"task": "x", "priority": 1e999}', 400),
    "deep arrays": (b'{"task": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    "deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
    "2 MB": (b'{"task": "' + b"x" * 2_000_000 + b'"}', TOO_LARGE),
    "5 MB": (b'{"task": "' + b"x" * 5_000_000 + b'"}', TOO_LARGE),
    "a wrong type": (b'{"task": {"a": [1]}}', 422),
    "a boolean": (b'{"task": true, "text": true, "digest": true, "agent": true}', 422),
    "a task too long": (b'{"task": "' + b"x" * 500_000 + b'", "agent": 7, "text": 7}', 422),
}
# Where messages are signed nothing is read before it is known whose they are.
WRITING = [route for route in ROUTES if route.body is not None and route.scope is not None]


def is_sentence(response: httpx.Response) -> bool:
    message = response.json()["detail"]
    return bool(message) and message.endswith((".", "?")) and "\n" not in message


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_is_refused_by_every_route(caller: Caller, name: str) -> None:
    body, status = BODIES[name]
    run_id = caller.submit("x", agent="writer")["id"]
    values = defaultdict(lambda: "x") | {
        "run_id": run_id,
        "call_id": "1.0",
        "conversation_id": run_id,
        "name": "x",
    }
    values |= {"number": "1", "worker_id": "1", "username": "nobody"}
    for route in WRITING:
        response = caller.http.request(
            route.method,
            route.path.format_map(values),
            content=body,
            headers={"Content-Type": "application/json"},
        )
        has_room = status == TOO_LARGE and len(body) <= limit_for(response.request.url.path)
        assert response.status_code == (422 if has_room else status), (route.path, response.text)
        assert is_sentence(response), response.text


@pytest.mark.parametrize(
    "path",
    [
        "/runs/%00",
        "/runs/..%2f..%2fetc",
        "/runs/ffffffff",
        "/runs/" + "a" * 5000,
        "/agents/%00",
        "/agents/%ff",
        "/agents/' OR 1=1",
        "/runs?agent=%00",
        "/runs?cursor=%00",
        "/runs?limit=1e9",
        "/runs/01a20106/calls/%00/decision",
        "/nothing",
        "/runs/a/b/c/d",
    ],
)
def test_a_hostile_address_is_refused(caller: Caller, path: str) -> None:
    response = caller.http.get(path)
    assert 400 <= response.status_code < 500, response.text
    assert is_sentence(response), response.text


@pytest.mark.parametrize("key", ["x" * 500, "\x01", "é"])
def test_a_strange_idempotency_key_does_no_harm(caller: Caller, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode("latin-1"))]
    response = caller.http.post("/runs", json={"task": "x", "agent": "writer"}, headers=headers)
    assert response.status_code in (201, 400, 422), response.text


def test_another_method_is_refused_in_the_same_form(caller: Caller) -> None:
    response = caller.http.delete("/runs")
    assert response.status_code == 405
    assert response.headers["allow"]
    assert response.json()["code"] == "method"
    assert is_sentence(response)
