"""How long each journey of a user takes, in ``build/journeys.json``."""

from __future__ import annotations

import fcntl
import json
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE: Final = ROOT / "build" / "journeys.json"


@pytest.fixture(autouse=True)
def journey_time(request: pytest.FixtureRequest, site: object, browser: object) -> Iterator[None]:
    """Note the seconds of the test, in a file that several processes write."""
    began = time.monotonic()
    yield
    took = round(time.monotonic() - began, 1)
    FILE.parent.mkdir(exist_ok=True)
    with FILE.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = json.loads(file.read() or "{}")
        file.truncate(0)
        json.dump(known | {request.node.name: took}, file, indent=1)
