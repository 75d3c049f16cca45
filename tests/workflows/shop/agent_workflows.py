"""Functions that leave traces in a folder, the run's input."""

from __future__ import annotations

import time
from pathlib import Path

from agents.workflows.builder.state_keys import add
from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor


@executor(effect="idempotent")
def leave_trace(folder: str, context: Context) -> str:
    """Write a line, which a repetition would write again."""
    with (Path(folder) / "traces").open("a") as traces:
        traces.write(f"{context.idempotency_key}\n")
    context.add("traces", 1)
    return folder


@executor(effect="pure", timeout_seconds=600)
def wait_while_held(folder: str) -> str:
    """Return once the folder's file ``hold`` is gone."""
    Path(folder, "held").touch()
    while Path(folder, "hold").exists():
        time.sleep(0.02)
    return folder


@executor  # at most once: a lost call is never repeated by itself
def risk_it(folder: str) -> str:
    """Leave a trace, and return once the folder's file ``hold`` is gone."""
    with (Path(folder) / "traces").open("a") as traces:
        traces.write("risked\n")
    while Path(folder, "hold").exists():
        time.sleep(0.02)
    return folder


traced = Workflow("traced").state(traces=add(0)).start(leave_trace)
