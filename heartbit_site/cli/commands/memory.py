"""`heartbit memory`: what agents remember."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Annotated, Any, Final

from heartbit_site.base.amounts import counted
from heartbit_site.cli.backend.chosen import call, confirm_removal, print_all
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import RemoteCommand, with_groups
from heartbit_site.cli.terminal.new_file import write_file
from heartbit_site.cli.terminal.output import NAME_WIDTH, TEXT_WIDTH, one_line, write
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_list, print_view
from heartbit_site.contract import memories as contract

ID = common.argument("ID", "The memory's number, as `heartbit memory list` shows it.")
TEXT = common.argument("TEXT", "One statement that can be understood by itself.")
QUERY = common.argument("[QUERY]", "Words to search for; none: the most notable memories.", "")
AGENT = common.option("--agent NAME", "Name the agent that recalls it.")
USERNAME = common.argument("USERNAME", "The person, as they log in.")
PERSON = common.option("--person USERNAME", "Name the person it concerns.")
SETTINGS = body_options(
    contract.MemoryIn,
    *("text", "metadata"),
    agent=common.option("--agent NAME", "Name the agent that recalls it.", None),
    person=common.option(
        "--person USERNAME", "Name the person it concerns.", None, parser=lambda text: text or None
    ),
)
REASON = common.option("--reason TEXT", "Keep this reason in the history.")
FILE = common.argument("FILE", "The ZIP archive to write.")
FORCE = common.flag("--force", "Replace an existing file.")
FORGOTTEN = common.flag("--forgotten", "List forgotten memories instead.")
RUNS = common.flag("--runs", "Erase the person's runs and conversations as well, with archives.")
FOUND = body_options(contract.MemorySettingsIn)
NUMBER = common.option("--limit N", "Number of memories at most.", 10)

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_memories(*, agent: str = AGENT, person: str = PERSON, forgotten: bool = FORGOTTEN) -> int:
    """List memories, the newest first."""
    wanted: dict[str, Any] = {"agent": agent, "person": person, "forgotten": forgotten}
    return print_all(contract.LIST_MEMORIES, MEMORIES, reads_only=True, **wanted)


@app.command(cls=RemoteCommand)
def show(memory_id: int = ID) -> int:
    """Show a memory with its history."""
    found = call(contract.SHOW_MEMORY, memory_id=memory_id, reads_only=True)
    return print_view(found, lambda: _print(found))


@app.command(cls=RemoteCommand)
@with_groups
def add(
    text: str = TEXT,
    *,
    settings: Annotated[Given, SETTINGS],
) -> int:
    """Store a memory."""
    made = call(contract.CREATE_MEMORY, {"text": text, **settings})
    return print_done(made, f"Remembered as memory {made.id}.")


@app.command(cls=RemoteCommand)
def recall(
    query: str = QUERY, *, agent: str = AGENT, person: str = PERSON, limit: int = NUMBER
) -> int:
    """Search memories by words, and by meaning if it is on; the best first, with the reasons."""
    wanted: dict[str, Any] = {"query": query, "agent": agent, "person": person, "limit": limit}
    return print_list(call(contract.SEARCH_MEMORIES, **wanted), HITS)


@app.command(cls=RemoteCommand)
def change(memory_id: int = ID, text: str = TEXT, *, reason: str = REASON) -> int:
    """Replace the text of a memory; its history keeps the former text."""
    changed = call(contract.CHANGE_MEMORY, {"text": text, "reason": reason}, memory_id=memory_id)
    return print_done(changed, f"Memory {changed.id} is changed.")


@app.command(cls=RemoteCommand)
def forget(memory_id: int = ID, *, reason: str = REASON) -> int:
    """Forget a memory; `heartbit memory undo` brings it back."""
    done = call(contract.FORGET_MEMORY, {"reason": reason}, memory_id=memory_id)
    return print_done(done, f"Memory {done.id} is forgotten.")


@app.command(cls=RemoteCommand)
def undo(memory_id: int = ID) -> int:
    """Undo the last change of a memory, or that it was forgotten."""
    done = call(contract.UNDO_MEMORY_CHANGE, memory_id=memory_id)
    return print_done(done, f"Memory {done.id} says now: {one_line(done.text, TEXT_WIDTH)}")


@app.command(cls=RemoteCommand)
def export(person: str = USERNAME, file: Path = FILE, *, force: bool = FORCE) -> int:
    """Write all that `heartbit memory clear --runs` would erase of a person into a ZIP archive."""
    found = call(contract.EXPORT_PERSON, username=person)
    write_file(file, b64decode(found.content), force=force)
    file.chmod(0o600)
    said = found.model_copy(update={"content": ""})
    return print_done(said, f"Wrote {counted(found.rows, 'row')} of {found.person} to {file}.")


@app.command(cls=RemoteCommand)
def clear(
    person: str = USERNAME,
    *,
    agent: str = AGENT,
    runs: bool = RUNS,
    yes: bool = common.YES,
) -> int:
    """Erase a person's memories with their histories, for good; with --agent, that agent's."""
    what = "all memories and runs" if runs else "all memories"
    confirm_removal(f"{what} of {one_line(person, NAME_WIDTH)}", yes=yes)
    done = call(contract.ERASE_MEMORIES, username=person, agent=agent, runs=runs)
    what = f"{done.erased:,} {'memory' if done.erased == 1 else 'memories'}"
    more = f" and {counted(done.runs, 'run')}" if runs else ""
    return print_done(done, f"Erased {what}{more} of {done.person}.")


@app.command(cls=RemoteCommand)
@with_groups
def settings(*, given: Annotated[Given, FOUND]) -> int:
    """Show or change the embedding model, and the days that memories are kept."""
    found = call(contract.CHANGE_SETTINGS, given) if given else call(contract.SHOW_SETTINGS)
    return print_view(found, lambda: _print_settings(found))


def _print_settings(found: contract.MemorySettingsOut) -> None:
    print_facts(
        "Settings of memories",
        [
            ("embedding model", found.embedding_model or "none: found by words only"),
            ("kept days", str(found.kept_days or "for ever")),
            ("tier's days", str(found.tier_days or "for ever")),
            ("problem", found.problem),
        ],
        width=16,
    )


def _whose(one: contract.MemoryOut) -> str:
    return one.person or one.agent or "workspace"


def _print(one: contract.MemoryDetailOut) -> None:
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


MEMORIES: Final = Table.of(
    contract.MemoryOut,
    "ID SCOPE OF AGENT=agent:40 CATEGORY MEMORY=text:300",
    none="No memories.",
    OF=lambda one: one_line(_whose(one), NAME_WIDTH),
)
HITS: Final = Table.of(
    contract.MemoryHitOut,
    "ID=memory.id SCORE=score:.2f MEMORY=memory.text:300 WHY",
    none="Nothing fits.",
)
