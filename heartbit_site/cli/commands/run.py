"""`heartbit run`, and `heartbit "<task>"` for short.

Where a server is named, by --url or HEARTBIT_URL, it is `heartbit submit --watch` there.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

from agents.runtime.files.given_files import read_paths
from heartbit_site.base import variables
from heartbit_site.cli.commands.submit import submit
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.images import pictures_of
from heartbit_site.cli.options.shared import use_url
from heartbit_site.cli.terminal.output import INVOCATION
from heartbit_site.config.locate import find
from heartbit_site.config.telemetry import apply_telemetry

CONFIG = common.option(
    "--config -C FILE",
    "Use this file; else HEARTBIT_CONFIG, or heartbit.toml here.",
    None,
)
URL = common.option(
    "--url URL",
    "Submit it to this server ('': none), and follow it; else HEARTBIT_URL.",
    None,
    callback=use_url,
    expose_value=False,
)


def run(
    task: str | None = common.TASK,
    *,
    agent: str = common.TASK_AGENT,
    model: str = common.MODEL,
    approve: bool = common.REQUIRE_APPROVAL,
    config: Path | None = CONFIG,
    payload: str = common.PAYLOAD,
    files: list[Path] | None = common.FILES,
    archives: list[Path] | None = common.ARCHIVES,
    images: list[Path] | None = common.IMAGES,
    plain: bool = common.PLAIN,
    server_url: str | None = URL,
) -> int:
    """Run a task and print the answer.

    It runs in this process; with --url or HEARTBIT_URL it is submitted there and followed, as by
    `heartbit submit --watch`.
    On a terminal, calls that wait for approval are asked about; elsewhere this process waits until
    `heartbit approve` has decided them. Ctrl-C cancels the run; a second Ctrl-C leaves at once.
    SIGTERM, or a terminal that is closed, leaves a run that `heartbit resume` continues.
    """
    task = common.check_task(task, payload, "run")
    if INVOCATION.url or (INVOCATION.url is None and variables.URL.read()):
        return submit(
            task,
            agent=agent,
            model=model,
            priority=0,
            idempotency_key=None,
            approve=approve,
            review="",
            payload=payload,
            files=files,
            archives=archives,
            images=images,
            config=config,
            watch=True,
            plain=plain,
        )
    given_files = read_paths(files or (), archives or ())
    pictures = pictures_of(images or ())
    file = find(config)
    apply_telemetry(os.environ, config)
    # A file may name another model than the default: which, is known once it has been read.
    ensure_ready(
        "heartbit_site.cli.following.local_runs", model=model if model or file is None else None
    )
    from agents.actions.admit import admit
    from agents.actions.run_request import RunRequest, task_text
    from agents.choices import Placement
    from agents.reads.agents import find_agent
    from heartbit_site.base.os_user import terminal_user
    from heartbit_site.cli.following.local_runs import stay_here
    from heartbit_site.cli.installation.preflight import check_run
    from heartbit_site.cli.options.payload import payload_of
    from heartbit_site.cli.options.team import team_of
    from heartbit_site.first_start import default_workspace

    long_form = payload_of(payload)
    workspace = default_workspace()
    task_text(task, long_form)  # an empty one is refused before a team is made
    chosen = (
        team_of(workspace, file, agent)
        if file is not None
        else find_agent(workspace, agent or "orchestrator")
    )
    check_run(chosen, model)

    def start() -> UUID:
        request = RunRequest(
            workspace,
            task,
            agent=chosen.name,
            origin=chosen.origin,
            payload=long_form,
            model=model,
            home=Placement.LOCAL,
            approve=approve,
            by=terminal_user(),
            files=given_files,
            pictures=pictures,
        )
        return admit(request).run_id

    return stay_here(workspace, start, plain=plain)
