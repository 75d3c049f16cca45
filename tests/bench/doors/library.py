"""Library: ``await team.arun(task)`` in a program of its own, whose tools are functions.

The program reads workloads' names from its input and writes how long each took:
``python -m tests.bench.doors.library WORKSPACE``.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar, Self
from uuid import UUID

import psutil

from heartbit_site.library import Heartbit
from tests.bench.doors import Aim, Door
from tests.bench.toolbox.agent_tools import look_up, note
from tests.bench.workloads import LEAD, MEMBERS, MODEL, SYSTEM_PROMPT, WORKER, WORKLOADS, Workload
from tests.server_process import ROOT
from tools.builtin.arithmetic import calculate
from tools.builtin.clock import current_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from heartbit_site.library.result import Result


class Library(Door):
    """A program that uses the library."""

    name = "library"
    floor = "bare asyncio"
    place = 6
    aims: ClassVar = {"": Aim("internal in process", 1.15)}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.workspace.slug],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
            bufsize=1,
        )
        return self

    def __exit__(self, *raised: Any) -> None:
        self._process.terminate() if raised[0] else None
        self._process.communicate(timeout=30)

    def take(self, workload: Workload) -> float:
        """See ``Door``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{workload.name}\n")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the program that uses the library has ended: its reason is above")
        told = json.loads(line)
        self.ids += map(UUID, told["runs"])
        return float(told["seconds"])

    @property
    def processes(self) -> list[psutil.Process]:
        """See ``Door``."""
        return [psutil.Process(self._process.pid)]


def team_of(agent: str, workspace: str) -> Heartbit:
    """Return the team of a workload's agent."""
    tools = [look_up, note, calculate, current_time]
    team = Heartbit(workspace=workspace).provider(MODEL)
    if agent == LEAD:
        for name in MEMBERS:
            team = team.agent(name, SYSTEM_PROMPT, tools=tools)
        return team.orchestrator(SYSTEM_PROMPT)
    return team.agent(agent, SYSTEM_PROMPT, tools=tools if agent == WORKER else [])


async def _serve(workspace: str) -> None:
    teams = {name: team_of(each.agent, workspace) for name, each in WORKLOADS.items()}
    for line in sys.stdin:  # blocks only this loop: the runs' own is the host's
        workload = WORKLOADS[line.strip()]
        team = teams[workload.name]
        ask: Callable[[str], Awaitable[Result]] = team.arun
        if workload.messages > 1:
            ask = team.conversation().asay
        runs = []
        began = time.perf_counter()
        for _ in range(workload.messages):
            result = await ask(workload.task)
            runs.append(str(result.expect().run_id))
        seconds = time.perf_counter() - began
        sys.stdout.write(json.dumps({"seconds": seconds, "runs": runs}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
