"""Extraction played on scripted conversations: real runs, a real journal, a scripted model.

It measures what the code makes of a model's proposals, and nothing of a real model's quality.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from memory.actions.policy import embed_memories, save_policy
from tests.bench.said import say
from tests.evals.conversations import (
    CROWDS,
    CROWDS_FROM,
    NO_WORD,
    PASTED,
    build_conversations,
    build_crowds,
)
from tests.evals.stage import AGENT, Stage
from tests.runtime.desk import agent_tools
from tests.server_process import ServerProcess
from tools.definitions.registry import marked, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.evals.scripted import Scripted
    from tests.evals.stage import Played

_AT_ONCE: Final = 8
_PREFIX: Final = "extraction, scripted model, "
_ALL: Final = "all but pasted instructions"
_BY_MEANING: Final = "by meaning"


def measure() -> Iterator[dict[str, Any]]:
    """Return a row for each kind of conversation and metric.

    The baseline of a precision is that of the model's proposals; of a supersession, a store that
    only adds.
    """
    scripts = dict(enumerate(build_conversations()))
    say(f"extraction: {len(scripts)} scripted conversations")
    for spec in marked(vars(agent_tools).values()):
        registry.register(spec)
    with ServerProcess("tests.evals.answerer", "--port", "0") as server:
        os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = server.url, "test"
        played = asyncio.run(_play_all(scripts, "evals-extraction", embedding=""))
        crowds = dict(enumerate(build_crowds(), CROWDS_FROM))
        say(f"extraction: {len(crowds)} more, with persons who have many memories")
        crowded = asyncio.run(_play_all(crowds, "evals-crowded", embedding=""))
        most = {n: one for n, one in crowds.items() if len(one.known) == max(CROWDS)}
        by_meaning = asyncio.run(_play_all(most, "evals-by-meaning", embedding="local"))
    yield from _rows(_ALL, [one for one in played if one.script.kind != PASTED])
    for kind in dict.fromkeys(one.script.kind for one in played):
        of_kind = [one for one in played if one.script.kind == kind]
        if kind == PASTED:
            yield _row(kind, "stored", sum(map(_size, of_kind)) / len(of_kind), 1.0, len(of_kind))
        else:
            yield from _rows(kind, of_kind)
    for size in CROWDS:
        of_size = [one for one in crowded if len(one.script.known) == size]
        yield from _rows(of_size[0].script.kind, of_size)
    yield from _rows(f"{by_meaning[0].script.kind}, {_BY_MEANING}", by_meaning)


def falls_short(row: Mapping[str, Any]) -> bool:
    """Return True if a row shows less than what code can settle, whatever a model proposes."""
    kind = row["name"].removeprefix(_PREFIX)
    beyond = kind == f"among {max(CROWDS)}, {NO_WORD}"  # words alone do not show it to the model
    if kind == row["name"] or kind == _ALL or beyond:
        return False
    return row["metric"] != "stored" and float(row["value"]) < 1


def _rows(kind: str, played: list[Played]) -> Iterator[dict[str, Any]]:
    scripts = [one.script for one in played]
    right = sum(len(set(one.stored) & one.script.after) for one in played)
    proposed = [each for one in scripts for said in one.sessions for each in said.proposed]
    good = sum(each.right for each in proposed)
    stored, wanted = sum(map(_size, played)), sum(len(one.after) for one in scripts)
    yield _row(kind, "precision", right / stored, good / len(proposed), len(played))
    yield _row(kind, "recall", right / wanted, 0.0, len(played))
    pairs = sum(len(one.superseded) for one in scripts)
    if pairs:
        done = sum(len(one.superseded & set(one.script.superseded)) for one in played)
        yield _row(kind, "superseded", done / pairs, 0.0, pairs)


def _size(one: Played) -> int:
    return one.stored.total()


def _row(kind: str, metric: str, value: float, baseline: float, n: int) -> dict[str, Any]:
    figures = {"value": round(value, 4), "baseline": round(baseline, 4), "n": n}
    return {"name": f"{_PREFIX}{kind}", "metric": metric, **figures}


async def _play_all(scripts: dict[int, Scripted], slug: str, *, embedding: str) -> list[Played]:
    workspace = await orm.run_in_thread(partial(_prepare, slug))
    host = LocalHost(slots=2 * _AT_ONCE)
    await host.start()
    room = asyncio.Semaphore(_AT_ONCE)
    stages = [
        Stage(host, workspace, script, model=f"openai:{number}")
        for number, script in scripts.items()
    ]

    def set_up() -> None:
        for stage in stages:
            stage.prepare()
        if embedding:
            save_policy(workspace, by=SYSTEM, embedding_model=embedding, kept_days=None)
            embed_memories(goes_on=lambda: True)

    async def play(stage: Stage) -> Played:
        async with room:
            return await stage.play()

    try:
        await orm.run_in_thread(set_up)
        return list(await asyncio.gather(*map(play, stages)))
    finally:
        await host.stop()


def _prepare(slug: str) -> Workspace:
    workspace = Workspace.objects.create(slug=slug, name="Evals")
    row = Agent.objects.create(
        workspace=workspace, name=AGENT, system_prompt="Be brief.", extract_memories=True
    )
    ToolBinding.objects.create(agent=row, tool="read_letter")
    publish_agent(row)
    return workspace
