"""Preflight: refuse to start a run whose model or sandbox is known to be unavailable.

A model is known to be unreachable from the circuits that the fleet's calls opened
(``agents.llm.wrappers.circuit``); for a run in this process, from those of the workspace's
accounts. Only a circuit that opened again after a failed probe counts: an accepted run waits out a
short outage. Once the next probe is due a run may start, and its first call is the probe. A sandbox
is known to be missing if no live worker of the agent's queue has one; for a run in this process, if
this process has none.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

import redis
from django.conf import settings

from agents.choices import Placement
from agents.errors import ModelUnreachableError, NoSandboxError
from agents.llm import defaults
from agents.llm.providers import PROVIDERS
from agents.loop.execution_mode import is_work
from agents.models import Agent, WorkerHeartbeat
from agents.runtime.providers.accounts import account_name
from agents.runtime.providers.open_circuits import open_circuits
from heartbit_site.base.amounts import duration
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount

logger = logging.getLogger(__name__)

KEEP_SECONDS = 5.0
KEEP = 1_000
#: Consecutive openings of a circuit that count as an outage.
KNOWN_AFTER = 2
_SANDBOX_SECONDS = 60  # delay before a retry, after which a worker may have a sandbox


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Reasons not to start runs of a workspace.

    Attributes:
        until: Time of the next probe of the providers that do not answer, in the clock's seconds.
        without_sandbox: Agents that need a sandbox and have none, as (origin, name).
    """

    until: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    without_sandbox: frozenset[tuple[str, str]] = frozenset()


class KnownObstacles:
    """Obstacles by workspace and placement, read every few seconds and used by all threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock of seconds with any origin."""
        self._clock = clock
        self._known: OrderedDict[tuple[int, Placement], tuple[float, Obstacles]] = OrderedDict()

    def seconds_left(
        self, workspace_id: int, home: Placement = Placement.FLEET
    ) -> Mapping[str, float]:
        """Return the seconds until the next probe of the providers that do not answer."""
        now = self._clock()
        until = self._read(workspace_id, home).until
        return {name: at - now for name, at in until.items() if at > now}

    def without_sandbox(
        self, workspace_id: int, home: Placement = Placement.FLEET
    ) -> frozenset[tuple[str, str]]:
        """Return the agents that need a sandbox and have none, as (origin, name)."""
        return self._read(workspace_id, home).without_sandbox

    def _read(self, workspace_id: int, home: Placement) -> Obstacles:
        now = self._clock()
        key = workspace_id, home
        again, found = self._known.get(key, (0.0, Obstacles()))
        if now < again:
            return found
        # Stored before the query, so that only one thread asks a slow Valkey.
        self._known[key] = (now + KEEP_SECONDS, found)
        outages = _outages(workspace_id, home)
        without = _without_sandbox if home is Placement.FLEET else _without_sandbox_here
        found = Obstacles(
            {name: now + left for name, left in outages.items()}, without(workspace_id)
        )
        self._known[key] = (now + KEEP_SECONDS, found)
        self._known.move_to_end(key)
        if len(self._known) > KEEP:
            self._known.popitem(last=False)
        return found


_known = KnownObstacles()


def has_obstacle(workspace_id: int, home: Placement) -> bool:
    """Return True if a known obstacle may keep a run of a workspace from starting."""
    return bool(
        _known.seconds_left(workspace_id, home) or _known.without_sandbox(workspace_id, home)
    )


def raise_if_not_ready(agent: Agent, model: str, home: Placement, task: str = "") -> None:
    """Raise if none of an agent's models answers, or its mode needs a sandbox that is missing.

    Args:
        agent: The agent.
        model: ``provider:model`` of the run; empty: the agent's.
        home: Placement of the run.
        task: Its task, which the mode `task` depends on.

    Raises:
        ModelUnreachableError: The circuits of all its models are open.
        NoSandboxError: The run executes code, and its queue or process has no sandbox.
    """
    lacking = _known.without_sandbox(agent.workspace_id, home)
    if (agent.origin, agent.name) in lacking and _is_to_run_code(agent, task):
        where = f"no worker of the queue {agent.queue} has a sandbox: see `heartbit doctor` there."
        raise NoSandboxError(
            f"The run of {agent.name} was not started, because it runs code (execution_mode) and "
            + (
                where
                if home is Placement.FLEET
                else "this process has no working sandbox: see `heartbit doctor`."
            ),
            _SANDBOX_SECONDS,
        )
    down = _known.seconds_left(agent.workspace_id, home)
    names = tuple(models_of(agent, model))
    waits = [down.get(name.partition(":")[0]) for name in names]
    left = [wait for wait in waits if wait is not None]
    if names and len(left) == len(waits):
        seconds = math.ceil(min(left))
        raise ModelUnreachableError(
            f"The run of {agent.name} was not started, because {' and '.join(names)} "
            f"{'do' if len(names) > 1 else 'does'} not answer; start it again in "
            f"{duration(timedelta(seconds=seconds))}, or give the agent a fallback model.",
            seconds,
        )


def _is_to_run_code(agent: Agent, task: str) -> bool:
    snapshot = agent.current_version.snapshot if agent.current_version else {}
    return snapshot.get("execution_mode") != "task" or is_work(task)


def models_of(agent: Agent, model: str) -> Iterator[str]:
    """Yield the models that a run may ask, its own first; none for a workflow."""
    snapshot = agent.current_version.snapshot if agent.current_version else {}
    if "model" not in snapshot:
        return  # a kind of run without a model
    try:
        own = model or snapshot.get("model") or agent.workspace.default_model
        yield own or defaults.default_model(os.environ)
    except ConfigurationError:
        return  # the run itself reports the error
    yield from snapshot.get("fallback_models", ())


def _without_sandbox(workspace_id: int) -> frozenset[tuple[str, str]]:
    found = set()
    for origin, name, queue in _that_run_code(workspace_id):
        serving = WorkerHeartbeat.objects.serving(queue).values_list("sandbox", flat=True)
        if serving and not any(serving):  # no worker: the run waits for one
            found.add((origin, name))
    return frozenset(found)


def _without_sandbox_here(workspace_id: int) -> frozenset[tuple[str, str]]:
    found = _that_run_code(workspace_id)
    if not found:
        return frozenset()
    # Imported here: it loads an HTTP client, which a command that only submits does not need.
    from tools.sandbox.choice import describe_sandbox  # noqa: PLC0415

    is_missing = describe_sandbox()[1] is not None
    return frozenset((origin, name) for origin, name, _ in found if is_missing)


def _that_run_code(workspace_id: int) -> list[tuple[str, str, str]]:
    """Return origin, name and queue of the agents with an execution mode."""
    agents = Agent.objects.filter(
        workspace=workspace_id, current_version__snapshot__execution_mode__isnull=False
    )
    return list(agents.values_list("origin", "name", "queue"))


def _outages(workspace_id: int, home: Placement) -> dict[str, float]:
    if not settings.HEARTBIT_BREAKER_FAILURES:
        return {}
    rows = ProviderAccount.objects.filter(workspace=workspace_id, enabled=True)
    # The environment's keys and URLs in this process may differ from the workers'.
    of_environment = PROVIDERS if home is Placement.FLEET else ()
    accounts = {f"environment:{provider}": provider for provider in of_environment}
    for pk, provider in rows.values_list("pk", "provider"):
        # The workspace's own account is used instead of the environment's key.
        accounts.pop(f"environment:{provider}", None)
        accounts[account_name(pk)] = provider
    try:
        found = open_circuits(settings.REDIS_URL, list(accounts))
    except redis.RedisError as error:  # a start must not depend on Valkey
        logger.info("Open circuits could not be read, so starts are not checked: %s", error)
        return {}
    known = {name: one for name, one in found.items() if one.openings >= KNOWN_AFTER}
    return {accounts[name]: one.seconds_left for name, one in known.items() if one.seconds_left}
