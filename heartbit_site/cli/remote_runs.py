"""Runs of a server: submit, status, result, cancel; the same output and exit codes as locally."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from string import hexdigits
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.errors import NotFoundError
from heartbit_site.cli import errors
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.load import load
from heartbit_site.cli.output import note, one_line, write, write_json
from heartbit_site.cli.remote_client import Client
from heartbit_site.cli.remote_outcome import (
    LIVE,
    conclude,
    described,
    past,
    summary,
    warn_without_worker,
)

if TYPE_CHECKING:
    from agents.payload import TaskPayload
    from heartbit_site.cli.remote import Server

REFRESH_SECONDS: Final = 1.0
WAIT_SECONDS: Final = 60
CANCEL_PATIENCE: Final = 10.0
LOST_PATIENCE: Final = 60.0  # a server that restarts is back within seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `heartbit submit` was asked; an empty agent is the orchestrator."""

    task: str
    agent: str = ""
    model: str = ""
    priority: int = 0
    payload: TaskPayload | None = None
    approve: bool = False


def submit(
    server: Server,
    request: Request,
    *,
    idempotency_key: str | None,
    follow: bool,
    as_json: bool,
    plain: bool,
) -> int:
    """Start a run there; with `follow`, stay until it has ended."""
    body: dict[str, Any] = {
        "task": request.task,
        "agent": request.agent,
        "model": request.model,
        "priority": request.priority,
        "approve": request.approve,
    }
    if request.payload is not None:
        body["payload"] = request.payload.model_dump(mode="json")
    with Client(server) as client:
        run = client.post("/runs", body, key=idempotency_key)
    if follow:
        if not as_json:
            note(f"Run {run['run']}")
        warn_without_worker(run)
        return stay(server, run, as_json=as_json, plain=plain)
    if as_json:
        write_json(described(run))
    else:
        write(run["run"])
    warn_without_worker(run)
    return OK


def last_runs(server: Server, count: int, *, watch: bool, as_json: bool) -> int:
    """List the last runs; with `watch`, again every second until Ctrl-C."""
    from rich.console import Console, Group  # noqa: PLC0415  slow, and --json needs none of it
    from rich.live import Live  # noqa: PLC0415

    from heartbit_site.cli.remote_table import table  # noqa: PLC0415

    with Client(server) as client:
        runs = _last(client, count)
        if as_json:
            write_json({"runs": [summary(run) for run in runs]})
            return OK
        console = Console(highlight=False)
        if not watch:
            for line in table(runs, console):
                console.print(line, soft_wrap=True)
            return OK
        if not sys.stdout.isatty():
            raise CommandError(
                "Name a run to watch; the list is watched on a terminal only.", USAGE
            )
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(Group(*table(runs, console)), refresh=True)
                time.sleep(REFRESH_SECONDS)
                runs = _last(client, count)


def one_run(server: Server, text: str, *, watch: bool, as_json: bool, plain: bool) -> int:
    """Show one run with its sub-agents."""
    with Client(server) as client:
        run = client.get(path_of(text))
    if watch:
        warn_without_worker(run)
        return stay(server, run, as_json=as_json, plain=plain)
    if as_json:
        write_json(described(run))
        return OK
    load("remote_watch").show(server, run)
    return OK


def result(server: Server, text: str, *, wait: bool, as_json: bool) -> int:
    """Print how a run ended."""
    with Client(server) as client:
        run = client.get(path_of(text))
        if run["status"] in LIVE:
            if not wait:
                raise CommandError(
                    f"Run {run['run']} has not ended ({run['status']}): "
                    f"`heartbit result {run['run']} --wait` waits for it."
                )
            warn_without_worker(run)
            run = _ended(client, run["run"])
    return conclude(run, as_json=as_json)


def cancel(server: Server, text: str, *, as_json: bool) -> int:
    """Cancel a run and wait a little for its end."""
    with Client(server) as client:
        run = client.get(path_of(text))
        if run["status"] not in LIVE:
            raise CommandError(
                f"Run {run['run']} has ended already: it {past(run)}.", errors.FAILED
            )
        client.post(f"{path_of(run['run'])}/cancel")
        client.get(f"{path_of(run['run'])}/result", {"wait": CANCEL_PATIENCE})
        run = client.get(path_of(run["run"]))
    if as_json:
        write_json(described(run))
    elif run["status"] in LIVE:
        note(f"Run {run['run']} was told to stop; it ends as soon as its worker hears it.")
    else:
        write(f"Run {run['run']} {past(run)}.")
    return OK


def stay(server: Server, run: dict[str, Any], *, as_json: bool, plain: bool) -> int:
    """Show a run's tree until it has ended, then how it ended. Ctrl-C leaves; the run goes on."""
    if not load("remote_watch").watch(server, run["root"], as_json=as_json, plain=plain):
        run_id = run["run"]
        note(f"The run goes on: `heartbit status {run_id} --watch`, or `heartbit cancel {run_id}`.")
        return errors.CANCELLED
    with Client(server) as client:
        return conclude(client.get(path_of(run["run"])), as_json=as_json, watched=True)


def _ended(client: Client, run_id: str) -> dict[str, Any]:
    """The run once it has ended; a server that is away for a moment is asked again."""
    lost_at: float | None = None
    while True:
        try:
            found = client.get(f"{path_of(run_id)}/result", {"wait": WAIT_SECONDS})
            if found["status"] not in LIVE:
                run: dict[str, Any] = client.get(path_of(run_id))
                return run
            lost_at = None
        except CommandError as error:
            lost_at = lost_at or time.monotonic()
            if error.code != errors.CANNOT_START or time.monotonic() - lost_at > LOST_PATIENCE:
                raise
            time.sleep(REFRESH_SECONDS)


def _last(client: Client, count: int) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = client.get("/runs", {"limit": count})["runs"]
    return runs


def path_of(run_id: str) -> str:
    """The address of a run.

    Raises:
        NotFoundError: This is no beginning of an id.
    """
    text = run_id.strip().lower()
    if not text or not set(text) <= set(f"{hexdigits}-"):
        raise NotFoundError(
            f"No run begins with {one_line(run_id, 60)}: `heartbit status` lists the last ones."
        )
    return f"/runs/{text}"
