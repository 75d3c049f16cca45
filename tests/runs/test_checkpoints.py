"""A long journal is folded from its checkpoint on, with the same result."""

from __future__ import annotations

from dataclasses import make_dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from agents.journal.events import ToolFinished
from agents.llm.messages import ToolCall
from agents.loop import checkpoint
from agents.loop.agent_state import AgentState
from agents.loop.journaled import JournaledState
from agents.models import Checkpoint
from heartbit_site.base import orm
from tests.runs.holding import accept, answer, claimant, hold, pool

__all__ = ["claimant", "pool"]

if TYPE_CHECKING:
    from agents.runs.claims import Claimant, ClaimedRun
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

TURNS = 30


def folded(claimed: ClaimedRun, *, whole: bool = False) -> AgentState:
    state = (None if whole else claimed.restored()) or AgentState()
    assert isinstance(state, AgentState)
    for recorded in claimed.history():
        state.fold(recorded)
    return state


def test_words_about_a_state_change_no_format_and_its_fields_do() -> None:
    def made(words: str, **fields: type) -> int:
        state = make_dataclass("State", fields.items(), namespace={"__doc__": words})
        return checkpoint.format_of(TypeAdapter(state))

    assert made("One.", turn=int) == made("Another.", turn=int)
    assert made("One.", turn=int) != made("One.", turn=int, description=str)


async def test_the_rest_of_the_journal_is_folded_onto_it(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    run_id = await orm.run_in_thread(partial(accept, workspace))
    claimed, lease = await hold(pool, claimant, run_id)
    journaled = JournaledState(folded(claimed), lease)
    for turn in range(1, TURNS):
        await journaled.record(answer(turn, ToolCall(f"c{turn}", "calculate", "{}"), text="Hm."))
        await journaled.record(ToolFinished(f"{turn}.0", "ok", str(turn), "pure"))
    await lease.release("drain")
    state = journaled.state
    stored = checkpoint.encode("agent", state)
    await lease.checkpoint(state.folded_seq, checkpoint.current_format(), stored)

    claimed, lease = await hold(pool, claimant, run_id)
    assert len(claimed.journal) == 2, "what was requeued and started again"
    after = folded(claimed)
    assert after.conversation == state.conversation
    assert after.task_message is after.conversation[0], (
        "the very message that context strategies keep"
    )
    await lease.record(answer(TURNS, text="Done."))
    await lease.release("drain")

    rows = Checkpoint.objects.filter(run_id=run_id)
    claimed, lease = await hold(pool, claimant, run_id)
    short = folded(claimed)
    await lease.release("drain")
    await orm.run_in_thread(partial(rows.update, format=checkpoint.current_format() + 1))
    claimed, _ = await hold(pool, claimant, run_id)
    assert claimed.checkpoint is None, "another form is not read"
    long = folded(claimed)
    assert short.conversation == long.conversation
    assert (short.turn, short.input_tokens) == (long.turn, long.input_tokens) == (TURNS, 7 * TURNS)
