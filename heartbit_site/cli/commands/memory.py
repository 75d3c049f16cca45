"""`heartbit memory`: what agents remember."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from heartbit_site.base.amounts import counted
from heartbit_site.cli.backend.checked import checked
from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import RemoteCommand, with_groups
from heartbit_site.cli.terminal.confirmation import confirm_removal
from heartbit_site.cli.terminal.output import NAME_WIDTH, TEXT_WIDTH, one_line, write
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_list, print_view
from heartbit_site.contract import memories as contract
from heartbit_site.contract.memories import (
    ForgetIn,
    MemoryChangeIn,
    MemoryDetailOut,
    MemoryHitOut,
    MemoryIn,
    MemoryOut,
    MemorySettingsIn,
    MemorySettingsOut,
)

ID = typer.Argument(metavar="ID", help="The memory's number, as `heartbit memory list` shows it.")
TEXT = typer.Argument(metavar="TEXT", help="One statement that is understood alone.")
QUERY = typer.Argument("", metavar="[QUERY]", help="Words to look for; none: the most notable.")
AGENT = typer.Option("", "--agent", metavar="NAME", help="Name the agent that recalls it.")
ERASED = typer.Argument(metavar="USERNAME", help="The person, as they log in.")
PERSON = typer.Option("", "--person", metavar="USERNAME", help="Name the person it concerns.")
SETTINGS = body_options(
    MemoryIn,
    *("text", "metadata"),
    agent=typer.Option(None, "--agent", metavar="NAME", help="Name the agent that recalls it."),
    person=typer.Option(
        None,
        "--person",
        metavar="USERNAME",
        help="Name the person it concerns.",
        parser=lambda text: text or None,
    ),
)
REASON = typer.Option("", "--reason", metavar="TEXT", help="Keep this reason in the history.")
FORGOTTEN = typer.Option(common.OFF, "--forgotten", help="List the forgotten ones instead.")
RUNS = typer.Option(
    common.OFF, "--runs", help="Erase the person's runs and conversations as well, with archives."
)
FOUND = body_options(MemorySettingsIn)
NUMBER = typer.Option(10, "--limit", metavar="N", help="Number of memories at most.")

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_memories(*, agent: str = AGENT, person: str = PERSON, forgotten: bool = FORGOTTEN) -> int:
    """List memories, the newest first."""
    wanted = {"agent": agent, "person": person, "forgotten": forgotten}
    return print_list(backend(reads_only=True).every(contract.LIST_MEMORIES, **wanted), MEMORIES)


@app.command(cls=RemoteCommand)
def show(memory_id: int = ID) -> int:
    """Show a memory with its history."""
    found = backend(reads_only=True).call(contract.SHOW_MEMORY, memory_id=memory_id)
    return print_view(found, lambda: _print(found))


@app.command(cls=RemoteCommand)
@with_groups
def add(
    text: str = TEXT,
    *,
    settings: Annotated[Given, SETTINGS],
) -> int:
    """Store a memory."""
    made = backend().call(contract.CREATE_MEMORY, checked(MemoryIn, {"text": text, **settings}))
    return print_done(made, f"Remembered as memory {made.id}.")


@app.command(cls=RemoteCommand)
def recall(
    query: str = QUERY, *, agent: str = AGENT, person: str = PERSON, limit: int = NUMBER
) -> int:
    """Search memories by words, and by meaning if it is on; the best first, with the reasons."""
    wanted: dict[str, Any] = {"query": query, "agent": agent, "person": person, "limit": limit}
    return print_list(backend().call(contract.SEARCH_MEMORIES, **wanted), HITS)


@app.command(cls=RemoteCommand)
def change(memory_id: int = ID, text: str = TEXT, *, reason: str = REASON) -> int:
    """Replace what a memory says; its history keeps what was."""
    body = checked(MemoryChangeIn, {"text": text, "reason": reason})
    changed = backend().call(contract.CHANGE_MEMORY, body, memory_id=memory_id)
    return print_done(changed, f"Memory {changed.id} is changed.")


@app.command(cls=RemoteCommand)
def forget(memory_id: int = ID, *, reason: str = REASON) -> int:
    """Forget a memory; `heartbit memory undo` brings it back."""
    body = checked(ForgetIn, {"reason": reason})
    done = backend().call(contract.FORGET_MEMORY, body, memory_id=memory_id)
    return print_done(done, f"Memory {done.id} is forgotten.")


@app.command(cls=RemoteCommand)
def undo(memory_id: int = ID) -> int:
    """Undo the last change of a memory, or that it was forgotten."""
    done = backend().call(contract.UNDO_MEMORY_CHANGE, memory_id=memory_id)
    return print_done(done, f"Memory {done.id} says now: {one_line(done.text, TEXT_WIDTH)}")


@app.command(cls=RemoteCommand)
def clear(
    person: str = ERASED,
    *,
    agent: str = AGENT,
    runs: bool = RUNS,
    yes: bool = common.YES,
) -> int:
    """Erase a person's memories with their histories, for good; with --agent, that agent's."""
    what = "all memories and runs" if runs else "all memories"
    confirm_removal(f"{what} of {one_line(person, NAME_WIDTH)}", yes=yes)
    done = backend().call(contract.ERASE_MEMORIES, username=person, agent=agent, runs=runs)
    what = f"{done.erased:,} {'memory' if done.erased == 1 else 'memories'}"
    more = f" and {counted(done.runs, 'run')}" if runs else ""
    return print_done(done, f"Erased {what}{more} of {done.person}.")


@app.command(cls=RemoteCommand)
@with_groups
def settings(*, given: Annotated[Given, FOUND]) -> int:
    """Show by what memories are found and how long they are kept, or change it."""
    if given:
        found = backend().call(contract.CHANGE_SETTINGS, checked(MemorySettingsIn, given))
    else:
        found = backend().call(contract.SHOW_SETTINGS)
    return print_view(found, lambda: _print_settings(found))


def _print_settings(found: MemorySettingsOut) -> None:
    print_facts(
        "Settings of memories",
        [
            ("embedding model", found.embedding_model or "none: found by words only"),
            ("kept days", str(found.kept_days or "for ever")),
            ("problem", found.problem),
        ],
        width=16,
    )


def _whose(one: MemoryOut) -> str:
    return one.person or one.agent or "workspace"


def _print(one: MemoryDetailOut) -> None:
    facts = [
        ("text", one.text),
        ("scope", one.scope),
        ("agent", one.agent),
        ("person", one.person),
        ("category", one.category),
        ("importance", one.importance),
        ("language", one.language),
        ("recalled", one.use_count),
        ("forgotten", one.forgotten_at),
    ]
    facts += [("said in", f"run {each.run_id}, turn {each.turn}") for each in one.sources]
    print_facts(f"Memory {one.id}", facts)
    for each in one.history:
        undone = " (undone)" if each.undone_at else ""
        before = f"; before: {each.before['text']}" if each.before else ""
        said = f"{each.kind}{undone} by {each.author}{before}"
        reason = f"; reason: {each.reason}" if each.reason else ""
        write(one_line(f"  {each.created_at:%Y-%m-%d %H:%M}  {said}{reason}"))


MEMORIES: Final = Table[MemoryOut](
    {
        "ID": lambda one: one.id,
        "SCOPE": lambda one: one.scope,
        "OF": lambda one: one_line(_whose(one), NAME_WIDTH),
        "AGENT": lambda one: one_line(one.agent, NAME_WIDTH),
        "CATEGORY": lambda one: one.category,
        "MEMORY": lambda one: one_line(one.text, TEXT_WIDTH),
    },
    none="No memories.",
)
HITS: Final = Table[MemoryHitOut](
    {
        "ID": lambda hit: hit.memory.id,
        "SCORE": lambda hit: f"{hit.score:.2f}",
        "MEMORY": lambda hit: one_line(hit.memory.text, TEXT_WIDTH),
        "WHY": lambda hit: hit.why,
    },
    none="Nothing fits.",
)
