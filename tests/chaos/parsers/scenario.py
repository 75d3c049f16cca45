"""S12: hostile texts at every edge, and then the processes have to serve as before."""

from __future__ import annotations

import os
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import psutil

from heartbit_site.first_start import default_workspace
from tests.api.server import Caller, WebServer, key_for
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.parsers import bodies, commands, forms, wires
from tests.chaos.parsers.found import Findings
from tests.chaos.parsers.stage import served, set_up
from tests.chaos.rig import say
from tests.fleet import WireServer, Worker
from tests.prepared import Prepared
from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: One text in so many goes to the command line.
EVERY = {"small": 4, "full": 1}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Ask everywhere and judge; every text is asked, so there are no dice."""
    queue, found = f"chaos-{secrets.token_hex(4)}", Findings()
    with WireServer() as wire:
        os.environ["OPENAI_BASE_URL"] = wire.url
        os.environ["OPENAI_API_KEY"] = "test"
        with WebServer() as web, Worker(queues=queue) as worker:
            _ask(web, worker, queue, found, directory=directory, every=EVERY[size])
    asked = sum(found.asked.values())
    figure = {
        "not_refused_in_a_sentence": len(found.unclear),
        "too_slow": len(found.slow),
        "processes_dead": len(found.dead),
        "kept_broken_or_executed": len(found.broken),
    }
    also: dict[str, float] = {f"{edge} texts": count for edge, count in found.asked.items()}
    also["slowest_s"] = round(found.slowest, 2)
    verdict = Verdict(faults=found.faults)
    return report.row(
        "S12", runs=asked, seed=seed, figure=figure, target={}, verdict=verdict, also=also
    )


def _ask(
    web: WebServer, worker: Worker, queue: str, found: Findings, *, directory: Path, every: int
) -> None:
    workspace = default_workspace()
    stage = set_up(workspace, f"parser-{queue}", queue=queue)
    agent = stage.agent.name
    steps: dict[str, Callable[[], object]] = {
        "forms": partial(forms.ask, stage.agent, found),
        "patterns": partial(forms.match, found),
        "messages": partial(wires.send, queue, directory / "executed", found),
        "notices": partial(wires.notify, found),
        "arguments": partial(wires.argue, workspace, queue, found, agent=agent),
    }
    for name, ask in steps.items():
        say(name)
        ask()
        served(workspace, agent)
    say("bodies")
    caller = Caller(web, key_for(workspace))
    with caller.http:
        bodies.ask(caller, found, run=stage.run)
        if caller.get("/runs").status_code != httpx.codes.OK:
            found.dead.append("the web server serves nobody any more")
    if "Traceback" in web.log.read_text():
        found.dead.append("a request ended in a traceback: see the web server's log")
    say("commands")
    prepared = Prepared()
    try:

        def heartbit(*arguments: str) -> tuple[int, str, str]:
            return prepared.run(arguments, dict(os.environ), ROOT, seconds=60)

        run, waiting = stage.run, stage.waiting
        commands.ask(heartbit, found, run=run, waiting=waiting, directory=directory, every=every)
    finally:
        prepared.close()
    served(workspace, agent)
    if not psutil.pid_exists(worker.pid):
        found.dead.append("the worker died")
