"""Preflight: no run starts whose every model is known to be unreachable.

Known are the circuits that the fleet's calls opened (``agents.llm.wrappers.circuit``). Only one
that opened again, after a probe failed, counts: a run that was accepted waits out a short outage.
Once the next probe is due a run may start, and its first call is the probe.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING

import redis
from django.conf import settings

from agents.errors import ModelUnreachableError
from agents.llm import factory
from agents.llm.providers import PROVIDERS
from agents.models import Run
from agents.runtime.accounts import account_name
from agents.runtime.open_circuits import open_circuits
from heartbit_site.base.amounts import duration
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import ProviderAccount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agents.models import Agent

logger = logging.getLogger(__name__)

KEEP_SECONDS = 5.0
KEEP = 1_000
#: Openings in a row that make an outage known.
KNOWN_AFTER = 2


class Outages:
    """Outages of the accounts of workspaces, read every few seconds and used by all threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock of seconds with any origin."""
        self._clock = clock
        # By workspace: when to read again, and until when an account is not asked.
        self._known: OrderedDict[int, tuple[float, Mapping[str, float]]] = OrderedDict()

    def seconds_left(self, workspace_id: int) -> Mapping[str, float]:
        """Return the seconds until the next probe of the providers that do not answer."""
        now = self._clock()
        again, until = self._known.get(workspace_id, (0.0, {}))
        if now >= again:
            # Noted first: while one thread asks a slow Valkey no other one does.
            self._known[workspace_id] = (now + KEEP_SECONDS, until)
            until = {name: now + left for name, left in _read(workspace_id).items()}
            self._known[workspace_id] = (now + KEEP_SECONDS, until)
            self._known.move_to_end(workspace_id)
            if len(self._known) > KEEP:
                self._known.popitem(last=False)
        return {name: at - now for name, at in until.items() if at > now}


_outages = Outages()


def has_outage(workspace_id: int) -> bool:
    """Return whether an account that a workspace's agents may use is known not to answer."""
    return bool(settings.HEARTBIT_BREAKER_FAILURES and _outages.seconds_left(workspace_id))


def raise_if_unreachable(agent: Agent, model: str, *, key: str | None) -> None:
    """Raise if none of the models that a run of an agent may ask answers.

    Args:
        agent: The agent.
        model: ``provider:model`` of the run; empty: the agent's.
        key: The start's idempotency key, as stored; a repeated start returns its run in any case.

    Raises:
        ModelUnreachableError: The circuits of all of them are open.
    """
    down = _outages.seconds_left(agent.workspace_id)
    names = tuple(_models(agent, model))
    waits = [down.get(name.partition(":")[0]) for name in names]
    left = [wait for wait in waits if wait is not None]
    if names and len(left) == len(waits) and not _is_repeated(agent.workspace_id, key):
        seconds = math.ceil(min(left))
        raise ModelUnreachableError(
            f"The run of {agent.name} was not started, because {' and '.join(names)} "
            f"{'do' if len(names) > 1 else 'does'} not answer; start it again in "
            f"{duration(timedelta(seconds=seconds))}, or give the agent a fallback model.",
            seconds,
        )


def _is_repeated(workspace_id: int, key: str | None) -> bool:
    runs = Run.objects.filter(workspace=workspace_id, idempotency_key=key)
    return key is not None and runs.exists()


def _models(agent: Agent, model: str) -> Iterator[str]:
    snapshot = agent.current_version.snapshot if agent.current_version else {}
    try:
        own = model or snapshot.get("model") or agent.workspace.default_model
        yield own or factory.default_model(os.environ)
    except ConfigurationError:
        return  # the run says what is wrong with it
    yield from snapshot.get("fallback_models", ())


def _read(workspace_id: int) -> dict[str, float]:
    rows = ProviderAccount.objects.filter(workspace=workspace_id, enabled=True)
    accounts = {f"environment:{provider}": provider for provider in PROVIDERS}
    for pk, provider in rows.values_list("pk", "provider"):
        # The workspace's own account is used instead of the environment's key.
        accounts.pop(f"environment:{provider}", None)
        accounts[account_name(pk)] = provider
    try:
        found = open_circuits(settings.REDIS_URL, list(accounts))
    except redis.RedisError as error:  # a start does not depend on Valkey
        logger.info("Open circuits could not be read, so starts are not checked: %s", error)
        return {}
    known = {name: one for name, one in found.items() if one.openings >= KNOWN_AFTER}
    return {accounts[name]: one.seconds_left for name, one in known.items() if one.seconds_left}
