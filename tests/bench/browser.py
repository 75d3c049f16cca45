"""BROWSER: the first page of a browser that knows nothing, while a run is writing.

Somebody who is logged in opens the page of a run whose answer is being streamed: how much comes
over the network, in how many requests, and when the first token is shown, from the navigation on.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING, Any

from tests.api.server import WebServer
from tests.bench import flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import SOLO
from tests.fleet import wait_until
from tests.web.chromium import chromium
from tests.web.people import member
from tests.web.visitor import visit

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from playwright.sync_api import Browser

TIMES = 5
STREAM_MS = 8000
WARM_UP = 3
GIVE_UP_SECONDS = 60.0
TASK = f"[[stream: {STREAM_MS}]] [[clock: 400]]"
TOKEN = ".writing:has-text(';')"  # the first piece ends with it


def measure() -> Row:
    """Its row."""
    say(f"BROWSER: a cold one opens a run's page, {TIMES} times")
    with Crew(Posts()) as crew, WebServer() as site:
        user = member(crew.workspace)
        flow.wait_ended(crew.flow.at_once([Job(SOLO, "Hi.")] * WARM_UP), seconds=GIVE_UP_SECONDS)
        loop = asyncio.new_event_loop()
        with chromium() as browser:
            seen = [_opened(crew, site, browser, user) for _ in range(TIMES)]
        loop.close()
    figures = tuple(
        Figure(name, statistics.median(one[name] for one in seen), unit)
        for name, unit in (("to the first token", "ms"), ("received", "KB"), ("requests", ""))
    )
    return Row("BROWSER", "cold", figures, {"times": TIMES})


def _opened(crew: Crew, site: WebServer, browser: Browser, user: User) -> dict[str, float]:
    [run] = crew.flow.at_once([Job(SOLO, TASK)])
    wait_until(lambda: crew.wire.stats()["in_flight"], what="the run is being answered")
    visitor = visit(browser, site.url, crew.workspace, user)
    received: list[float] = []
    network = visitor.context.new_cdp_session(visitor.page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda done: received.append(_bytes(done)))
    began = time.perf_counter()
    visitor.page.goto(f"{site.url}/w/{crew.workspace.slug}/runs/{run}/", wait_until="commit")
    visitor.page.wait_for_selector(TOKEN)
    shown = (time.perf_counter() - began) * 1000
    visitor.page.wait_for_load_state("load")
    visitor.context.close()
    return {
        "to the first token": shown,
        "received": sum(received) / 1000,
        "requests": len(received),
    }


def _bytes(done: dict[str, Any]) -> float:
    return float(done["encodedDataLength"])
