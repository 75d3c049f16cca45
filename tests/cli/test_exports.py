"""What commands hand on is exact in a pipe, and steers no terminal."""

from __future__ import annotations

import json
import os
import pty
import secrets
import subprocess
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run
from heartbit_site.base.models import Workspace
from tests.command import HEARTBIT
from tests.starts import start_run

if TYPE_CHECKING:
    from tests.command import Command

EVIL = "a\x1b[2J\x9b31m\x7fb\u202ec\u2066d\te"
STEERING = set("\x1b\x9b\x7f\u202e\u2066")


def shown(*arguments: str) -> str:
    """What a command writes to a terminal."""
    mouth, terminal = pty.openpty()
    process = subprocess.Popen([HEARTBIT, *arguments], stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    found = b""
    try:
        while piece := os.read(mouth, 65536):
            found += piece
    except OSError:
        pass  # the other end is closed
    os.close(mouth)
    assert process.wait(timeout=90) == 0
    return found.decode().replace("\r\n", "\n")


def evil_run() -> Run:
    """A run of the default workspace whose task is hostile, and which nobody works on."""
    workspace = Workspace.objects.get(slug="default")
    agent = Agent.objects.create(
        workspace=workspace,
        name=f"evil-{secrets.token_hex(3)}",
        system_prompt=EVIL,
        queue="nobody-serves-this",
    )
    publish_agent(agent)
    return Run.objects.get(pk=start_run(workspace, EVIL, agent=agent.name))


def test_an_exported_run_is_exact_in_a_pipe_and_steers_no_terminal(
    heartbit: Command, database: None
) -> None:
    run = str(evil_run().pk)
    exported = heartbit("runs", "export", run).out
    assert set(exported) >= STEERING - {"\x1b"}, "JSON has to escape ESC, and nothing else"
    on_terminal = shown("runs", "export", run)
    assert not STEERING & set(on_terminal)
    assert json.loads(on_terminal) == json.loads(exported)
    assert json.loads(exported)["run"]["task"] == EVIL


def test_json_of_a_run_steers_no_terminal(heartbit: Command, database: None) -> None:
    run = str(evil_run().pk)
    assert not STEERING & set(shown("status", run, "--json"))
    assert heartbit("status", run, "--json").json["id"] == run
