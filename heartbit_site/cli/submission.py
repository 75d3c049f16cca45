"""`heartbit submit`: a task for the workers of this installation, or of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heartbit_site.cli.backend import ServerBackend, backend_for, checked
from heartbit_site.cli.describe import run_tree
from heartbit_site.cli.errors import OK, USAGE, CommandError
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.output import note, write, write_json
from heartbit_site.cli.payload_option import payload_of
from heartbit_site.cli.run_streams import stay, stream_of
from heartbit_site.contract.runs import START_RUN, RunIn

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.cli.backend import Backend
    from heartbit_site.contract.runs import RunDetailOut


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOptions:
    """Options of `heartbit submit`.

    Attributes:
        agent: Empty: the orchestrator, or the configuration file's first agent.
        payload: The task's long form, or the name of a file that holds it.
        file: The configuration file whose team is meant; None: the installation's agents.
        approve: Every tool call waits for a person.
    """

    task: str
    agent: str = ""
    model: str = ""
    priority: int = 0
    idempotency_key: str | None = None
    payload: str = ""
    file: Path | None = None
    approve: bool = False


def submit(
    url: str | None, order: SubmitOptions, *, follow: bool, as_json: bool, plain: bool
) -> int:
    """Start a run; with ``follow``, stay until it has ended."""
    backend = backend_for(url, order.file)
    if isinstance(backend, ServerBackend) and order.file is not None:
        raise CommandError(
            f"--config {order.file} is for this installation, but {backend.server.url} does the "
            "run: import the file there (`heartbit config import`), or leave --config out; with "
            "--url '' it is done here.",
            USAGE,
        )
    if follow:
        stream_of(backend)  # imported before there is anything to show
    return accepted(backend, _start(backend, order), follow=follow, as_json=as_json, plain=plain)


def accepted(
    backend: Backend, run: RunDetailOut, *, follow: bool, as_json: bool, plain: bool
) -> int:
    """Print a run that was accepted just now; with ``follow``, stay until it has ended."""
    if follow:
        if not as_json:
            note(f"Run {run.id}")
        warn_without_worker(run)
        return stay(backend, run, as_json=as_json, plain=plain)
    if as_json:
        write_json(run_tree(run))
    else:
        write(run.id)
    warn_without_worker(run)
    return OK


def _start(backend: Backend, order: SubmitOptions) -> RunDetailOut:
    given: dict[str, Any] = {
        "task": order.task,
        "agent": order.agent,
        "model": order.model,
        "priority": order.priority,
        "require_approval": order.approve,
    }
    # The long form is read after the installation is ready, as everything else that may be slow.
    payload = payload_of(order.payload)
    if payload is not None:
        given["payload"] = payload.model_dump(mode="json")
    body, key = checked(RunIn, given), order.idempotency_key
    if order.file is not None:
        from heartbit_site.cli.local_backend import LocalBackend  # noqa: PLC0415  need Django set up
        from heartbit_site.cli.team import start_with  # noqa: PLC0415

        return start_with(LocalBackend().access, order.file, body, key)
    return backend.call(START_RUN, body, idempotency_key=key)
