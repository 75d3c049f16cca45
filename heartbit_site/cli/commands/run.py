"""`heartbit run`, and `heartbit "<task>"` for short."""

from __future__ import annotations

import typer

from heartbit_site.cli import options
from heartbit_site.cli.begin import begin
from heartbit_site.cli.load import load


def run(
    task: str = options.TASK,
    *,
    agent: str = options.AGENT,
    model: str = options.MODEL,
    as_json: bool = options.JSON,
    plain: bool = options.PLAIN,
) -> None:
    """Do a task here and now, in this process, and print the answer.

    Ctrl-C cancels the run; a second Ctrl-C leaves at once.
    """
    begin("heartbit_site.cli.standalone", model=model)
    code = load("standalone").run(task, agent=agent, model=model, as_json=as_json, plain=plain)
    raise typer.Exit(code)
