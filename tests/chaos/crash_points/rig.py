"""What the scenarios of crashing workers run on: ledgers, a workspace, and forks to kill."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.models import Run
from tests.chaos import journals, records
from tests.chaos.brood import Brood, deaths_in
from tests.chaos.crash_points import stage
from tests.chaos.crashes import agent_tools
from tests.chaos.nursery import Nursery
from tests.chaos.processes import EffectsServer
from tests.chaos.records import Kill, Records
from tests.fleet import WireServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from heartbit_site.base.models import Workspace


@dataclass(slots=True)
class CrashRig:
    """The parts that are up.

    Attributes:
        directory: Where ledgers, logs and the files of deaths stay.
        brood: Workers with one slot each, which die as their runs' plans say.
        sweeper: A worker without any run, so that somebody lives.
    """

    directory: Path
    workspace: Workspace
    brood: Brood
    sweeper: Brood

    def deaths(self) -> dict[str, list[float]]:
        """When the workers of each run died, by run id."""
        return deaths_in(self.directory / "deaths")

    def collect(self) -> Records:
        """Everything that happened, also kept as ``records.json``."""
        happened = records.read_effects(self.directory / "effects.jsonl")
        runs = Run.objects.filter(workspace=self.workspace).values_list("pk", flat=True)
        left = Records(
            runs=journals.read(list(runs)),
            asked=records.read_asked(self.directory / "model.jsonl"),
            effects=(*happened, *stage.rows(self.workspace)),
            kills=tuple(Kill(at, "", (run,)) for run, died in self.deaths().items() for at in died),
        )
        journals.dump(left, self.directory / "records.json")
        return left


@contextmanager
def crash_rig(directory: Path, *, workers: int, lease: float) -> Iterator[CrashRig]:
    """Servers, and workers with one slot each that die as their runs' plans say."""
    markers = directory / "deaths"
    markers.mkdir()
    queue = f"crash-{secrets.token_hex(4)}"
    with (
        WireServer(ledger=directory / "model.jsonl") as wire,
        EffectsServer(ledger=directory / "effects.jsonl") as effects,
    ):
        environment = {
            "OPENAI_BASE_URL": wire.url,
            "OPENAI_API_KEY": "test",
            "CHAOS_EFFECTS_URL": effects.url,
            "CHAOS_DEATHS": str(markers),
            "HEARTBIT_LEASE_SECONDS": str(lease),
            "HEARTBIT_EXTRA_APPS": agent_tools.__package__ or "",
            "HEARTBIT_HTTP_ALLOWLIST": effects.url.removeprefix("http://"),
        }
        workspace = stage.workspace_of_subjects(queue)
        with Nursery(environment, log=directory / "workers.log") as nursery:
            brood = Brood(nursery, queue, count=workers)
            yield CrashRig(directory, workspace, brood, Brood(nursery, f"{queue}-no", count=1))
