"""Recording of a run's model answers, for tests. No Django."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agents.llm.testing.cassette import Cassette, RecordedAnswer, RecordedCall, RecordedRun
from heartbit_site.base.errors import ConflictError
from heartbit_site.contract.runs import SHOW_RUN, RunTreeOut
from heartbit_site.contract.turns import LIST_TURNS, SHOW_TURN

if TYPE_CHECKING:
    from heartbit_site.cli.backend.protocol import Backend


def cassette_of(server: Backend, run_id: str) -> Cassette:
    """Return the answers of the model in a run and its sub-agents.

    Raises:
        ConflictError: A run of the tree has not ended, or the run asked no model.
    """
    tree = list(_tree(server.call(SHOW_RUN, run_id=run_id)))
    for run in tree:
        if run.finished_at is None:
            raise ConflictError(f"Run {run.id} is {run.status}: export it once it has ended.")
    runs = tuple(_recorded(server, run) for run in tree)
    if not runs[0].answers:
        raise ConflictError(f"Run {tree[0].id} has no answer of a model to record.")
    return Cassette(runs=runs)


def _tree(run: RunTreeOut) -> Iterator[RunTreeOut]:
    yield run
    for child in run.children:
        yield from _tree(child)


def _recorded(server: Backend, run: RunTreeOut) -> RecordedRun:
    turns = server.every(LIST_TURNS, run_id=run.id).turns
    answers = (server.call(SHOW_TURN, run_id=run.id, number=turn.number).answer for turn in turns)
    return RecordedRun(
        agent=run.agent,
        task=run.task,
        answers=tuple(
            RecordedAnswer(
                text=answer.text,
                calls=tuple(
                    RecordedCall(tool=call.name, arguments=call.arguments)
                    for call in answer.tool_calls
                ),
            )
            for answer in answers
        ),
    )
