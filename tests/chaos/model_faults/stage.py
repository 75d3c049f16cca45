"""The real runtime, the hostile provider and the effects server, together for one scenario."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from unittest import mock

from django.test import override_settings

from agents.actions.provider_accounts import save_provider_account
from agents.actions.publish_agent import publish_agent
from agents.choices import TERMINAL, Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent, Run, ToolBinding
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.models import ProviderAccount, Workspace
from tests.chaos.model_faults.observed import Case, Ledgers, Observed, observe
from tests.chaos.model_faults.replies import SAVE
from tests.chaos.model_faults.wire import MODELS
from tests.chaos.processes import EffectsServer
from tests.chaos.toolbox import agent_tools
from tests.server_process import ServerProcess
from tests.starts import start_run
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path
    from uuid import UUID

    from tests.chaos.model_faults.mode import Mode, Where
    from tests.chaos.model_faults.wire import Dialect

AGENT = "faulty"
TOKENS_PER_MINUTE = 10_000_000  # so that what an answer used is settled as well
LEASE_SECONDS = 10.0  # as installed: a busy machine is no dead worker, and not what is tested here
LOOK_EVERY = 0.05
STUCK_AFTER = 20.0  # seconds beyond the longest that a mode may take
#: Providers of the openai dialect that stand for the places where no provider is.
STAND_INS: dict[str, str] = {"closed": "openrouter", "garbage": "gemini"}


@dataclass(slots=True)
class Played:
    """A run of a mode, as far as it came.

    Attributes:
        waited: Whether it was seen waiting without a worker.
        served_after: Whether the same process served a sound run after it.
    """

    mode: Mode
    case: Case
    run_id: UUID
    waited: bool
    served_after: bool = True


@dataclass
class Stage:
    """Where modes are played.

    Attributes:
        places: The provider's addresses.
        queue: Of the fleet's runs.
        host: Of the local runs.
    """

    places: dict[str, str]
    provider_ledger: Path
    effects_ledger: Path
    environment: dict[str, str]
    queue: str = field(default_factory=lambda: f"faults-{secrets.token_hex(4)}")
    host: LocalHost | None = None

    def case(self, mode: Mode, dialect: Dialect, route: str, detail: str = "") -> Case:
        """A run of a mode."""
        name: str = dialect
        if mode.where != "provider" and route != "account":
            name = STAND_INS[mode.where]
        return Case(mode.name, dialect, route, f"{name}:{MODELS[dialect]}", detail)

    def prepare(self, mode: Mode, case: Case) -> Workspace:
        """A workspace of the mode's own: its account is paused for nobody else."""
        slug = f"f-{secrets.token_hex(6)}"
        workspace = Workspace.objects.create(slug=slug, name=slug)
        typed = case.route == "account"
        account = ProviderAccount(
            workspace=workspace,
            provider=case.model.partition(":")[0],
            base_url=f"{self._place(mode.where)}/v1" if typed else "",
            tokens_per_minute=TOKENS_PER_MINUTE,
        )
        save_provider_account(account, key="sk-not-a-secret-of-anybody")
        agent = Agent.objects.create(
            workspace=workspace,
            name=AGENT,
            system_prompt="Be brief.",
            model=case.model,
            timeout_seconds=mode.deadline,
            max_retries=mode.attempts,
            retry_base_delay_ms=20,
            retry_max_delay_ms=50,
            queue=self.queue,
        )
        ToolBinding.objects.create(agent=agent, tool=SAVE)
        publish_agent(agent)
        return workspace

    def _place(self, where: Where) -> str:
        return self.places["url" if where == "provider" else where]

    async def start(self, case: Case, workspace: Workspace) -> UUID:
        """Accept a run and hand it to whoever executes it."""
        home = Placement.FLEET if case.route == "fleet" else Placement.LOCAL
        run_id = await orm.run_in_thread(
            lambda: start_run(workspace, case.task, agent=AGENT, home=home)
        )
        if home is Placement.LOCAL:
            assert self.host is not None
            self.host.execute(run_id)
        return run_id

    async def play(self, mode: Mode, case: Case, workspace: Workspace) -> Played:
        """Run it to its end; a run that never ends is given up, and shows as such."""
        run_id = await self.start(case, workspace)
        waited = False
        try:
            async with asyncio.timeout(mode.longest + STUCK_AFTER):
                if mode.suspended or case.route == "fleet":
                    waited = await _watch(run_id)
                elif self.host is not None:
                    await wait_for_end(run_id, self.host.window)
        except TimeoutError:
            pass
        return Played(mode, case, run_id, waited)

    async def observe(self, played: Sequence[Played]) -> list[Observed]:
        """Read the runs and the ledgers."""

        def read() -> list[Observed]:
            ledgers = Ledgers.read(self.provider_ledger, self.effects_ledger)
            return [
                observe(
                    each.case,
                    each.run_id,
                    ledgers,
                    waited=each.waited,
                    served_after=each.served_after,
                )
                for each in played
            ]

        return await orm.run_in_thread(read)


async def _watch(run_id: UUID) -> bool:
    """Wait for a run's end; whether it was seen waiting without a worker."""
    waited = False
    while True:
        run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
        waited = waited or (run.status == RunStatus.WAITING and run.worker_id is None)
        if run.status in TERMINAL:
            return waited
        await asyncio.sleep(LOOK_EVERY)


@contextmanager
def stage(directory: Path) -> Iterator[Stage]:
    """Both servers, and this process's environment as a worker's that uses them."""
    ledger, effects_ledger = directory / "provider.jsonl", directory / "effects.jsonl"
    with (
        ServerProcess("tests.chaos.model_faults.provider", "--ledger", str(ledger)) as provider,
        EffectsServer(ledger=effects_ledger) as effects,
    ):
        ledger.touch()
        places = provider.places
        urls = [*places.values(), effects.url]
        environment = {
            "OPENAI_BASE_URL": f"{places['url']}/v1",
            "ANTHROPIC_BASE_URL": places["url"],
            "OPENROUTER_BASE_URL": f"{places['closed']}/v1",
            "GEMINI_BASE_URL": f"{places['garbage']}/v1",
            "CHAOS_EFFECTS_URL": effects.url,
            "HEARTBIT_EXTRA_APPS": agent_tools.__package__ or "",
            "HEARTBIT_LEASE_SECONDS": str(LEASE_SECONDS),
            # Each fault is looked at for itself; together they would hold every run.
            "HEARTBIT_BREAKER_FAILURES": "0",
            "HEARTBIT_HTTP_ALLOWLIST": ",".join(url.partition("//")[2] for url in urls),
        }
        allow = environment["HEARTBIT_HTTP_ALLOWLIST"]
        registry.discover([agent_tools])
        changed = override_settings(
            HEARTBIT_HTTP_ALLOWLIST=allow,
            HEARTBIT_LEASE_SECONDS=LEASE_SECONDS,
            HEARTBIT_BREAKER_FAILURES=0,
        )
        with mock.patch.dict(os.environ, environment), changed:
            yield Stage(places, ledger, effects_ledger, environment)


@asynccontextmanager
async def local_host(on: Stage, *, slots: int = 200) -> AsyncIterator[LocalHost]:
    """The runtime in this process."""
    host = LocalHost(slots=slots)
    await host.start()
    on.host = host
    try:
        yield host
    finally:
        on.host = None
        await host.stop()
