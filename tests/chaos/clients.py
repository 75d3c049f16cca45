"""Those who start runs from outside, and how they were answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from uuid import UUID

import httpx

from agents.models import Agent
from heartbit_site.first_start import default_workspace
from tests.api.server import Caller, key_for
from tests.chaos.couriers import add_agent
from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

#: Nobody waits longer for an answer.
GIVE_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client got.

    Attributes:
        client: Who asked: ``api`` or ``cli``.
        seconds: How long it took, for the command line with the start of its process.
        run: The accepted run; None when it was refused or nobody answered.
        detail: What was said instead.
        until: When it was known.
    """

    client: str
    seconds: float
    run: UUID | None
    detail: str = ""
    until: float = field(default_factory=time.time)


class ApiClient:
    """Starts runs with ``POST /api/v1/runs`` in a workspace."""

    def __init__(self, server: WebServer, workspace: Workspace) -> None:
        self._caller = Caller(server, key_for(workspace))
        self._caller.http.timeout = httpx.Timeout(GIVE_UP_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._caller.http.close()

    def start(self, task: str, agent: str, *, key: str = "") -> Answer:
        """Ask once; 201 and, for a key that was used, 200 are an acceptance."""
        body = {"task": task, "agent": agent}
        headers = {"Idempotency-Key": key} if key else {}
        began = time.monotonic()
        try:
            response = self._caller.post("/runs", body, **headers)
        except httpx.HTTPError as error:
            return Answer("api", time.monotonic() - began, None, f"{type(error).__name__}: {error}")
        seconds = time.monotonic() - began
        if response.status_code in (200, 201):
            return Answer("api", seconds, UUID(response.json()["id"]))
        return Answer("api", seconds, None, f"{response.status_code} {response.text[:300]}")


class CommandLine:
    """Starts runs with ``heartbit submit``, by an agent of the default workspace."""

    def __init__(self, queue: str, *, settings: Mapping[str, str] | None = None) -> None:
        self._agent = f"courier-{queue}"
        self._environment = {**os.environ, **(settings or {})}
        workspace = default_workspace()
        if not Agent.objects.filter(workspace=workspace, name=self._agent).exists():
            add_agent(workspace, self._agent, queue=queue)

    def start(self, task: str) -> Answer:
        """Run the command once; exit code 0 is an acceptance."""
        command = [sys.executable, "-m", "heartbit_site.cli.main", "submit", task, "--json"]
        began = time.monotonic()
        try:
            done = subprocess.run(
                [*command, "--agent", self._agent],
                env=self._environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=GIVE_UP_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer("cli", time.monotonic() - began, None, "no answer")
        seconds = time.monotonic() - began
        if done.returncode:
            return Answer("cli", seconds, None, f"exit {done.returncode}: {done.stderr[-300:]}")
        return Answer("cli", seconds, UUID(json.loads(done.stdout)["id"]))
