"""Answers from passages: are they given to the model, and does the local model use them?

The questions are those of ``tests.evals.manuals`` about Amazon's services, whose answer is a name
that a text has or has not, such as ``CreateIPSet``. The model's part is played by real runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agents.actions.publish_agent import publish_agent
from agents.choices import Placement
from agents.live.follow import wait_for_end
from agents.models import Agent, ToolBinding, ToolCall
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.bench.said import say
from tests.evals import knowledge
from tests.evals.intervals import share
from tests.evals.manuals import load_manuals
from tests.evals.rankings import GIVEN, RANKINGS
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agents.models import Run
    from heartbit_site.base.models import Workspace
    from memory.knowledge.search import PassageHit
    from tests.evals.manuals import ManualQuestion

_SOURCE: Final = "aws"
_MODEL: Final = "local:smollm2-135m"
#: Questions that the local model is asked, and of them those to search for itself.
_ASKED, _SEARCHED = 10, 3
#: Passages that it is given: with more, it takes longer, and its context is small.
_GIVEN: Final = 3
_PROMPT: Final = (
    "You answer questions about web services. Answer with the name of the one operation that does "
    "what the question asks for, in one short sentence."
)
_FROM_PASSAGES: Final = (
    f"{_PROMPT} Answer from the passages, and cite the passage that you use as a Markdown link."
)
_LINK: Final = re.compile(r"\[[^\]]+\]\([^)\s]+\)")


def measure() -> Iterator[dict[str, Any]]:
    """Return the rows; the baseline of an answer from passages is one without any."""
    workspace = knowledge.prepare()
    questions = [one for one in load_manuals(_SOURCE).questions if one.held_out]
    yield from _in_context(workspace, questions)
    yield from asyncio.run(_asked(workspace, questions))


def _in_context(
    workspace: Workspace, questions: Sequence[ManualQuestion]
) -> Iterator[dict[str, Any]]:
    baseline = 0.0
    for ranking in RANKINGS:
        found = [knowledge.find(workspace, one, ranking, limit=GIVEN) for one in questions]
        stands = sum(_stands(*pair) for pair in zip(questions, found, strict=True))
        value = stands / len(questions)
        name = f"answer in context, {_SOURCE}, {ranking}, held out"
        row = _row(name, f"share@{GIVEN}", stands, len(questions), baseline)
        yield row
        baseline = max(baseline, value)


def _stands(question: ManualQuestion, hits: Sequence[PassageHit]) -> bool:
    """Return True if what an agent is given has the answer."""
    return any(_names(f"{hit.citation}\n{hit.passage.text}", question) for hit in hits)


def _names(text: str, question: ManualQuestion) -> bool:
    return re.search(rf"\b{re.escape(question.section)}\b", text) is not None


async def _asked(workspace: Workspace, questions: Sequence[ManualQuestion]) -> list[dict[str, Any]]:
    await orm.run_in_thread(partial(_prepare, workspace))
    host = LocalHost(slots=2)
    await host.start()
    try:
        return await _measure_model(host, workspace, questions)
    finally:
        await host.stop()


def _prepare(workspace: Workspace) -> None:
    for name, prompt in (
        ("closed", _PROMPT),
        ("open", _FROM_PASSAGES),
        ("searcher", _FROM_PASSAGES),
    ):
        row = Agent.objects.create(
            workspace=workspace, name=name, system_prompt=prompt, max_tokens=60, max_turns=4
        )
        if name == "searcher":
            ToolBinding.objects.create(
                agent=row, tool="search_knowledge", knowledge_bases=[_SOURCE]
            )
        publish_agent(row)


async def _measure_model(
    host: LocalHost, workspace: Workspace, questions: Sequence[ManualQuestion]
) -> list[dict[str, Any]]:
    given: list[tuple[ManualQuestion, list[PassageHit]]] = []
    for one in sorted(questions, key=lambda each: hashlib.sha256(each.text.encode()).digest()):
        hits = await orm.run_in_thread(partial(knowledge.find, workspace, one, limit=_GIVEN))
        if _stands(one, hits):  # what is not given cannot be read
            given.append((one, hits))
    given = given[:_ASKED]
    began = time.perf_counter()
    closed = [await _run(host, workspace, "closed", one.text) for one, _ in given]
    opened = [await _run(host, workspace, "open", _task(one, hits)) for one, hits in given]
    searched = [await _run(host, workspace, "searcher", one.text) for one, _ in given[:_SEARCHED]]
    say(f"local model: {time.perf_counter() - began:.0f} s")

    def count(
        judge: Callable[[Run, ManualQuestion, list[PassageHit]], bool], runs: list[Run]
    ) -> int:
        return sum(judge(run, *each) for run, each in zip(runs, given, strict=False))

    def right(run: Run, question: ManualQuestion, _: list[PassageHit]) -> bool:
        return _names(run.output or "", question)

    def cites(run: Run, _: ManualQuestion, hits: list[PassageHit]) -> bool:
        return any(hit.passage.link in (run.output or "") for hit in hits)

    def links(run: Run, *_: object) -> bool:
        return _LINK.search(run.output or "") is not None

    def cites_right(run: Run, question: ManualQuestion, hits: list[PassageHit]) -> bool:
        right_ones = [hit for hit in hits if knowledge.answers(hit, question)]
        return cites(run, question, right_ones)

    searches = await orm.run_in_thread(
        lambda: [
            ToolCall.objects.filter(run=run, tool="search_knowledge").exists() for run in searched
        ]
    )
    prefix, own = (f"local model, {_SOURCE}, {how}" for how in ("passages given", "searching"))
    size = len(given)
    alone = count(right, closed) / size
    return [
        _row(prefix, "names the operation", count(right, opened), size, alone),
        _row(prefix, "writes a link", count(links, opened), size, 0.0),
        _row(prefix, "cites a passage", count(cites, opened), size, 0.0),
        _row(prefix, "cites the right passage", count(cites_right, opened), size, 0.0),
        _row(own, "calls the tool", sum(searches), len(searched), 0.0),
        _row(own, "names the operation", count(right, searched), len(searched), alone),
    ]


def _task(question: ManualQuestion, hits: Sequence[PassageHit]) -> str:
    passages = "\n\n".join(
        f"[{hit.citation}]({hit.passage.link})\n{hit.passage.text}" for hit in hits
    )
    return f"Passages:\n\n{passages}\n\nQuestion: {question.text}"


async def _run(host: LocalHost, workspace: Workspace, agent: str, task: str) -> Run:
    def start() -> Any:
        return start_run(
            workspace, task, agent=agent, model=_MODEL, home=Placement.LOCAL, by=SYSTEM
        )

    run_id = await orm.run_in_thread(start)
    host.execute(run_id)
    return await wait_for_end(run_id, host.window)


def _row(name: str, metric: str, hits: int, n: int, baseline: float) -> dict[str, Any]:
    return {
        "name": name,
        "metric": metric,
        "value": round(hits / n, 4),
        "baseline": round(baseline, 4),
        "n": n,
        "interval": share(hits, n),
    }
