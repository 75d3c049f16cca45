"""Runs the shapes in this process, and reads what they left."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.definitions.snapshot import read
from agents.journal.events import encode
from agents.live.follow import wait_for_end
from agents.models import Run
from agents.runs.history import load_history
from agents.runtime.execution.host import LocalHost
from agents.runtime.toolset.offer import offered_tools
from heartbit_site.base import orm
from heartbit_site.base.models import Workspace
from tests.chaos.replay import people
from tests.chaos.replay.kept import Kept, Tool
from tests.chaos.replay.points import points_of
from tests.chaos.replay.shapes import Shape, publish, shapes
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from agents.definitions.definition import AgentDefinition

AT_ONCE = 12
INTERRUPT_SECONDS = 0.4
#: Words of this machine that no journal may carry.
_NOBODYS = {"run.started": {"worker": "worker", "task_id": "", "sandbox": ""}}


async def record(effects_url: str) -> list[Kept]:
    """Make all runs, and return their journals with the decision at each point."""
    slug = f"replay-{secrets.token_hex(4)}"
    workspace = await orm.run_in_thread(lambda: Workspace.objects.create(slug=slug, name=slug))
    await orm.run_in_thread(partial(publish, workspace))
    todo = list(shapes(effects_url))
    drained = [shape for shape in todo if shape.then == "drain"]
    names: dict[UUID, str] = {}
    host = LocalHost(slots=40)
    await host.start()
    person = asyncio.create_task(people.decide_for_ever(workspace))
    try:
        limit = asyncio.Semaphore(AT_ONCE)
        others = [shape for shape in todo if shape.then != "drain"]
        for found in await asyncio.gather(
            *(_play(host, workspace, shape, limit) for shape in others)
        ):
            names |= found
        begun = {await _begin(host, workspace, shape): shape.name for shape in drained}
        await asyncio.sleep(INTERRUPT_SECONDS)
        await host.stop()
        host = LocalHost(slots=40)
        await host.start()
        for run_id in begun:
            host.execute(run_id)
            await _end(host, run_id)
        names |= begun
    finally:
        person.cancel()
        with suppress(asyncio.CancelledError):
            await person
        await host.stop()
    return await _journals(workspace, names)


async def _begin(host: LocalHost, workspace: Workspace, shape: Shape) -> UUID:
    run_id = await orm.run_in_thread(partial(people.begin, workspace, shape))
    host.execute(run_id)
    return run_id


async def _end(host: LocalHost, run_id: UUID) -> None:
    async with asyncio.timeout(60):
        await wait_for_end(run_id, host.window)


async def _play(
    host: LocalHost, workspace: Workspace, shape: Shape, limit: asyncio.Semaphore
) -> dict[UUID, str]:
    """Run one shape to its end; the names of its runs."""
    async with limit:
        if shape.then.startswith("talk"):
            ids = await orm.run_in_thread(partial(people.converse, workspace, shape))
            for run_id in ids:
                host.execute(run_id)
                await _end(host, run_id)
            return dict.fromkeys(ids, shape.name)
        run_id = await _begin(host, workspace, shape)
        if "steer" in shape.then or "cancel" in shape.then:
            await asyncio.sleep(INTERRUPT_SECONDS)
            await orm.run_in_thread(partial(people.interrupt, workspace, run_id, shape.then))
        await _end(host, run_id)
        kind, _, what = shape.then.partition(":")
        if kind != "fork":
            return {run_id: shape.name}
        forked = await orm.run_in_thread(partial(people.fork, run_id, what))
        host.execute(forked)
        await _end(host, forked)
        return {run_id: "forked", forked: shape.name}


async def _journals(workspace: Workspace, names: dict[UUID, str]) -> list[Kept]:
    read_all = partial(_read_all, workspace, names)
    kept: Sequence[Kept] = await orm.run_in_thread(read_all)
    found = [replace(each, points=await points_of(each)) for each in kept]
    shown = json.dumps(Counter(each.shape for each in found))
    sys.stderr.write(f"{shown}\n")
    return found


def _read_all(workspace: Workspace, names: dict[UUID, str]) -> list[Kept]:
    runs = Run.objects.filter(workspace=workspace, status__in=TERMINAL)
    rows = runs.select_related("version__agent").order_by("created_at", "pk")
    return [_read(row, names.get(row.pk, "sub_agent")) for row in rows]


def _read(run: Run, shape: str) -> Kept:
    past = load_history(run)
    definition = read(1, 1, run.agent, run.version.snapshot)
    return Kept(
        shape=shape,
        id=str(run.pk),
        agent=run.agent,
        snapshot=run.version.snapshot,
        approve=run.approve,
        tools=_tools(definition, is_child=run.parent_id is not None),
        thread=tuple(past.thread),
        events=tuple(
            {
                "seq": each.seq,
                "at": each.at.isoformat(),
                **_anyones(encode(each.event)),
            }
            for each in past.journal
        ),
    )


def _anyones(event: dict[str, Any]) -> dict[str, Any]:
    """The event without the name of this machine."""
    return {**event, "payload": {**event["payload"], **_NOBODYS.get(event["type"], {})}}


def _tools(definition: AgentDefinition, *, is_child: bool) -> tuple[Tool, ...]:
    offer = offered_tools(definition, registry, is_child=is_child, has_parent=is_child)
    return tuple(
        Tool(
            name=name,
            hash=offer.hashes[name],
            description=spec.description,
            parameters=dict(spec.parameters),
            effect=spec.effect.value,
            timeout_seconds=spec.timeout_seconds,
            defaults=dict(spec.defaults),
        )
        for name, spec in offer.specs.items()
    )
