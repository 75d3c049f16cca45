"""The REST API: bodies that nobody should send, to every route that takes one."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.api.test_bodies import BODIES, WRITING

if TYPE_CHECKING:
    from tests.api.server import Caller
    from tests.chaos.parsers.found import Findings

#: These are no hostile values, but wrong ones.
_WRONG = ("empty", "an array", "a number", "null")


def ask(caller: Caller, found: Findings, *, run: str) -> None:
    """Send each of them everywhere."""
    path = defaultdict(lambda: "1", run_id=run, call_id="1.0", conversation_id=run, name="x")
    headers = {"Content-Type": "application/json"}
    for name, (body, _) in BODIES.items():
        if name in _WRONG:
            continue
        for route in WRITING:
            began = time.monotonic()
            address = route.path.format_map(path)
            response = caller.http.request(route.method, address, content=body, headers=headers)
            seconds = time.monotonic() - began
            refused = 400 <= response.status_code < 500
            said = response.json()["detail"] if refused else None
            found.add("REST body", f"{name} to {route.path}", said, seconds)
