"""R1: a worker is killed every two seconds under runs that act on the outside world.

One run in five asks a person before each effect; what they decide is what may happen.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from agents.actions.publish_agent import publish_agent
from agents.actions.start_run import start_run
from agents.choices import TERMINAL, AgentApproval
from agents.models import Agent, Run, ToolBinding
from heartbit_site.base.models import Workspace
from tests.chaos import journals, records
from tests.chaos.checker import Verdict, check
from tests.chaos.decider import Decider
from tests.chaos.journals import CAREFUL
from tests.chaos.processes import EffectsServer
from tests.chaos.records import Kill, Records
from tests.chaos.supervisor import Supervisor
from tests.chaos.toolbox import agent_tools
from tests.fleet import WireServer, wait_until
from tools.registry import registry

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

AGENT = "courier"
TOOLS = ("current_time", "http_request", "store_item")
KILL_EVERY = 2.0
ROUNDS = 6
#: One run in so many waits for a person before each of its effects.
CAREFUL_EVERY = 5
#: What a run does in each round: S stores an item (idempotent), R sends a request (at most once).
SCRIPT = ("SR", "R", "S", "SR", "T", "R")
#: Shorter, because it also waits for people.
CAREFUL_SCRIPT = ("SR", "R", "S")


@dataclass(frozen=True, slots=True)
class Load:
    """How hard it gets.

    Attributes:
        runs: How many in all.
        at_once: How many of them are unfinished at a time.
        workers: Worker processes.
        give_up: Seconds of killing after which the rest may end in peace.
    """

    runs: int
    at_once: int = 15
    workers: int = 3
    model_ms: float = 250
    effect_ms: float = 250
    give_up: float = 240


def run(load: Load, *, seed: int, directory: Path) -> Verdict:
    """Do it, leave the ledgers and logs in ``directory``, and judge."""
    model_ledger, effects_ledger = directory / "model.jsonl", directory / "effects.jsonl"
    decisions = directory / "decisions.jsonl"
    with (
        WireServer(ledger=model_ledger, latency_ms=load.model_ms) as wire,
        EffectsServer(ledger=effects_ledger, latency_ms=load.effect_ms) as effects,
    ):
        stage = _Stage(load, seed=seed, effects_url=effects.url)
        environment = {
            "OPENAI_BASE_URL": wire.url,
            "OPENAI_API_KEY": "test",
            "CHAOS_EFFECTS_URL": effects.url,
            "HEARTBIT_EXTRA_APPS": agent_tools.__package__ or "",
            "HEARTBIT_HTTP_ALLOW": effects.url.removeprefix("http://"),
        }
        supervisor = Supervisor(
            load.workers,
            queue=stage.queue,
            log=directory / "workers.log",
            environment=environment,
        )
        with supervisor, Decider(stage.workspace, seed=seed, journal=decisions):
            wait_until(lambda: supervisor.registered() == load.workers, seconds=60, what="workers")
            stage.play(supervisor)
    left = Records(
        runs=journals.read(stage.ids),
        asked=records.read_asked(model_ledger),
        effects=records.read_effects(effects_ledger),
        kills=tuple(stage.kills),
        decided=records.read_decided(decisions),
        missed_windows=stage.missed_windows,
        own_exits=supervisor.own_exits,
    )
    journals.dump(left, directory / "records.json")
    return check(left)


def target_recovery() -> float:
    """Seconds a killed worker's run may take to its next start."""
    return settings.HEARTBIT_LEASE_SECONDS + settings.HEARTBIT_SWEEP_SECONDS + 3.0


class _Stage:
    """The agent, its runs, and the hand that kills."""

    def __init__(self, load: Load, *, seed: int, effects_url: str) -> None:
        self.queue = f"chaos-{secrets.token_hex(4)}"
        self.ids: list[UUID] = []
        self.kills: list[Kill] = []
        self.missed_windows = 0
        self._load = load
        self._seed = seed
        self._effects_url = effects_url
        self._choice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self.workspace = _workspace(self.queue)

    def play(self, supervisor: Supervisor) -> None:
        """Submit and kill until all runs have ended, then wait for the rest."""
        give_up = time.monotonic() + self._load.give_up
        window = time.monotonic() + KILL_EVERY
        while self._submit() and time.monotonic() < give_up:
            supervisor.tend()
            window = self._kill(supervisor, window)
            time.sleep(0.05)
        if time.monotonic() >= give_up:
            _say(f"gave up killing after {self._load.give_up:g} s")
        quiet = time.monotonic() + 2 * settings.HEARTBIT_LEASE_SECONDS + 30
        while self._submit() and time.monotonic() < quiet:
            supervisor.tend()
            time.sleep(0.2)

    def _kill(self, supervisor: Supervisor, window: float) -> float:
        """Kill once in each window, as soon as it hurts; when the next one begins.

        A kill leaves one worker that could go on, so a window waits while fewer than two are up.
        """
        now = time.monotonic()
        if now < window or supervisor.registered() < 2:
            return window
        kill = supervisor.kill_one(self._choice)
        if kill is not None:
            self.kills.append(kill)
            _say(f"killed worker {kill.worker} with {len(kill.held)} runs")
        elif now < window + KILL_EVERY:
            return window
        else:
            self.missed_windows += 1
        return now + KILL_EVERY

    def _submit(self) -> int:
        """Keep so many runs unfinished as are wanted; how many are, or are still to come."""
        ended = Run.objects.filter(pk__in=self.ids, status__in=TERMINAL).count()
        unfinished = len(self.ids) - ended
        while unfinished < self._load.at_once and len(self.ids) < self._load.runs:
            number = len(self.ids)
            courier = bool(number % CAREFUL_EVERY)
            agent, script = (AGENT, SCRIPT) if courier else (CAREFUL, CAREFUL_SCRIPT)
            task = self._task(f"r1-{self._seed}-{number}", script)
            self.ids.append(start_run(self.workspace, task, agent=agent))
            unfinished += 1
        return unfinished

    def _task(self, name: str, script: tuple[str, ...]) -> str:
        """The script of a run; every effect has a name of its own."""
        rounds: list[str] = []
        for number, letters in enumerate(script):
            calls = [self._call(letter, f"{name}/{number}{letter}") for letter in letters]
            rounds.append(f"[[{'then' if rounds else 'calls'}: {', '.join(calls)}]]")
        return f"[[run: {name}]] {' '.join(rounds)}"

    def _call(self, letter: str, op: str) -> str:
        if letter == "T":
            return "current_time {}"
        if letter == "S":
            return f"store_item {json.dumps({'op': op})}"
        request = {"method": "POST", "url": f"{self._effects_url}/send", "json": {"op": op}}
        return f"http_request {json.dumps(request)}"


def _workspace(queue: str) -> Workspace:
    """A workspace with both agents; the tools are registered here as in the workers."""
    registry.discover([agent_tools])
    workspace = Workspace.objects.create(slug=queue, name=queue)
    for name, approval in ((AGENT, AgentApproval.NEVER), (CAREFUL, AgentApproval.EFFECTS)):
        agent = Agent.objects.create(
            workspace=workspace,
            name=name,
            system_prompt="You deliver things.",
            model="openai:chaos",
            queue=queue,
            approval=approval,
        )
        ToolBinding.objects.bulk_create(ToolBinding(agent=agent, tool=tool) for tool in TOOLS)
        publish_agent(agent)
    return workspace


def _say(text: str) -> None:
    if os.environ.get("CHAOS_QUIET") != "1":
        sys.stderr.write(f"chaos: {text}\n")
