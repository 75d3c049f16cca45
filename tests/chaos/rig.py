"""What a scenario runs on: model and effects servers, workers, and the ledgers they leave."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.chaos import journals, records
from tests.chaos.couriers import workspace_of_couriers
from tests.chaos.processes import EffectsServer
from tests.chaos.records import Records
from tests.chaos.supervisor import Supervisor
from tests.chaos.toolbox import agent_tools
from tests.fleet import WireServer, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.chaos.records import Kill


@dataclass(slots=True)
class Rig:
    """The parts of a scenario that are up.

    Attributes:
        directory: Where ledgers and logs stay.
        queue: The workers' queue, and the workspace's slug: of this play alone.
        environment: What the workers' environment has on top of this process's.
        supervisor: The workers.
    """

    directory: Path
    queue: str
    workspace: Workspace
    wire: WireServer
    effects: EffectsServer
    environment: dict[str, str]
    supervisor: Supervisor

    @property
    def decisions(self) -> Path:
        """The journal of a ``Decider``."""
        return self.directory / "decisions.jsonl"

    def collect(
        self, ids: Sequence[UUID], *, kills: Sequence[Kill] = (), missed_windows: int = 0
    ) -> Records:
        """Everything about these runs, also kept as ``records.json``; after they have ended."""
        decided = records.read_decided(self.decisions) if self.decisions.exists() else ()
        left = Records(
            runs=journals.read(ids),
            asked=records.read_asked(self.directory / "model.jsonl"),
            effects=records.read_effects(self.directory / "effects.jsonl"),
            kills=tuple(kills),
            decided=decided,
            missed_windows=missed_windows,
            own_exits=self.supervisor.own_exits,
        )
        journals.dump(left, self.directory / "records.json")
        return left


@contextmanager
def rig(
    directory: Path,
    *,
    workers: int = 3,
    model_ms: float = 250,
    effect_ms: float = 250,
    settings: Mapping[str, str] | None = None,
    concurrency: int = 100,
    shared: Sequence[str] = (),
) -> Iterator[Rig]:
    """Servers and registered workers, until the block's end.

    Args:
        directory: Where ledgers and logs are to stay.
        workers: Worker processes.
        model_ms: How long the model server takes to answer.
        effect_ms: How long the effects server takes between effect and answer.
        settings: Environment variables for the workers.
        concurrency: Runs that each worker holds.
        shared: Queues of the product that they serve besides their own.
    """
    queue = f"chaos-{secrets.token_hex(4)}"
    with (
        WireServer(ledger=directory / "model.jsonl", latency_ms=model_ms) as wire,
        EffectsServer(ledger=directory / "effects.jsonl", latency_ms=effect_ms) as effects,
    ):
        environment = {
            "OPENAI_BASE_URL": wire.url,
            "OPENAI_API_KEY": "test",
            "CHAOS_EFFECTS_URL": effects.url,
            "HEARTBIT_EXTRA_APPS": agent_tools.__package__ or "",
            "HEARTBIT_HTTP_ALLOWLIST": effects.url.removeprefix("http://"),
            **(settings or {}),
        }
        workspace = workspace_of_couriers(queue)
        log = directory / "workers.log"
        supervisor = Supervisor(
            workers,
            queue=",".join((queue, *shared)),
            log=log,
            environment=environment,
            concurrency=concurrency,
        )
        with supervisor:
            wait_until(lambda: supervisor.registered() == workers, seconds=60, what="workers")
            yield Rig(directory, queue, workspace, wire, effects, environment, supervisor)


def say(text: str) -> None:
    """Tell whoever watches."""
    if os.environ.get("CHAOS_QUIET") != "1":
        sys.stderr.write(f"chaos: {text}\n")
