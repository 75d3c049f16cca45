"""`heartbit submit`."""

from __future__ import annotations

import base64
from pathlib import Path

from agents.runtime.files.given_files import read_paths
from heartbit_site.base.archives import pack
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.backend.protocol import checked
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.following.streams import accepted, stream_of
from heartbit_site.cli.options import common
from heartbit_site.cli.options.images import images_of
from heartbit_site.cli.options.payload import payload_of
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.contract.runs import START_RUN, RunIn

PRIORITY = common.option(
    "--priority -p", "Higher goes first in its workspace.", 0, min=-1000, max=1000
)
KEY = common.option("KEY", "Start one run for this key, even if it is submitted again.", None)
REVIEW = common.option(
    "--review WHO", "Let these people review the result: anyone, group:NAME or person:USERNAME."
)
CONFIG = common.option(
    "--config -C FILE", "The agents of this file instead of the installation's.", None
)


def submit(
    task: str | None = common.TASK,
    *,
    agent: str = common.TASK_AGENT,
    model: str = common.MODEL,
    priority: int = PRIORITY,
    idempotency_key: str | None = KEY,
    approve: bool = common.REQUIRE_APPROVAL,
    review: str = REVIEW,
    payload: str = common.PAYLOAD,
    files: list[Path] | None = common.FILES,
    archives: list[Path] | None = common.ARCHIVES,
    images: list[Path] | None = common.IMAGES,
    config: Path | None = CONFIG,
    watch: bool = common.WATCH,
    plain: bool = common.PLAIN,
) -> int:
    """Submit a task to the workers and print the run's id.

    With --watch the run is shown and its answer printed; Ctrl-C leaves it, and it continues.
    """
    task = common.check_task(task, payload, "submit")
    server = backend(config)
    if isinstance(server, ServerBackend) and config is not None:
        raise UsageError(
            f"--config {config} is for this installation, but {server.server.url} does the "
            "run: import the file there (`heartbit config import`), or leave --config out; with "
            "--url '' it is done here."
        )
    given_files = read_paths(files or (), archives or ())
    pictures = [base64.b64encode(one).decode() for one in images_of(images or ())]
    if watch:
        stream_of(server)  # imported before there is anything to show
    long_form = payload_of(payload)
    given = {
        "task": task,
        "agent": agent,
        "model": model,
        "priority": priority,
        "require_approval": approve,
        "review": review,
        # Packed: a body with files as they are would be larger.
        **({"archive": base64.b64encode(pack(given_files)).decode()} if given_files else {}),
        **({"images": pictures} if pictures else {}),
        **({"payload": long_form.model_dump(mode="json")} if long_form is not None else {}),
    }
    body = checked(RunIn, given)
    if config is None:
        run = server.call(START_RUN, body, idempotency_key=idempotency_key)
    else:
        from heartbit_site.cli.backend.local import LocalBackend
        from heartbit_site.cli.options.team import start_with

        run = start_with(LocalBackend().access, config, body, idempotency_key)
    return accepted(server, run, watch=watch, plain=plain)
