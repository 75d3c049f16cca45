"""Dependencies of a run executor: registry, model and HTTP clients, live output, wake-ups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.live.pubsub import LivePublisher

if TYPE_CHECKING:
    import httpx

    from agents.runtime.execution.wakeups import RunWaker
    from agents.runtime.providers.models import Models
    from agents.runtime.providers.reservations import Reservations
    from agents.runtime.recovery.isolated_runs import IsolatedRunner
    from heartbit_site.base.orm import OrmExecutor
    from tools.definitions.registry import Registry
    from tools.mcp.pool import McpPool
    from tools.scripts.interpreter import ScriptInterpreter


@dataclass(frozen=True, slots=True)
class RuntimeDependencies:
    """Dependencies of a run executor.

    Attributes:
        reservations: Reservations of budgets by model calls in flight.
        guarded_http: HTTP client for requests that a model, a tool or a user can steer.
        mcp: Connections to the workspaces' MCP servers.
        interpreter: Runs the scripts of agents in code mode.
        run_isolated: Runs suspect runs in separate processes.
    """

    registry: Registry
    publisher: LivePublisher
    waker: RunWaker
    models: Models
    reservations: Reservations
    guarded_http: httpx.AsyncClient
    mcp: McpPool
    executor: OrmExecutor
    run_isolated: IsolatedRunner
    interpreter: ScriptInterpreter
