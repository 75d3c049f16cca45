"""`heartbit skills`: instructions and files that agents load when a task calls for them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

from agents.skills.folder import read_folder
from agents.skills.spec import pack, read_path
from heartbit_site.base.amounts import counted
from heartbit_site.base.visible_text import visible
from heartbit_site.cli.backend import chosen
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.terminal.errors import CommandError
from heartbit_site.cli.terminal.output import note, one_line, write, write_exactly
from heartbit_site.cli.terminal.table import Table, print_done, print_facts, print_view
from heartbit_site.contract import skills as contract
from heartbit_site.contract.agents import CHANGE_AGENT, SHOW_AGENT, AgentDetailOut

NAME = common.argument("SKILL", "The skill's name.")
FILE = common.argument("[PATH]", "Print this file of it, e.g. SKILL.md.", None)
FOLDER = common.argument("PATH", "The skill's folder, or a zip, tar or tar.gz of it.")
NUMBER = common.argument("NUMBER", "The version to restore.", min=1)
AGENT = common.argument("AGENT", "The agent's name.")
FROM = common.argument("[FROM]", "A version's number; none: the one before TO.", None, min=1)
TO = common.argument("[TO]", "The second version's number; none: the current version.", None, min=1)
HASH: Final = 12  # characters of a hash

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_skills() -> int:
    """List the skills with the agents that have them."""
    return chosen.print_all(contract.LIST_SKILLS, SKILLS)


@app.command(cls=RemoteCommand)
def show(name: str = NAME, path: str | None = FILE) -> int:
    """Show a skill with its instructions and files, or one of the files."""
    if path is not None:
        file = chosen.call(contract.SHOW_SKILL_FILE, skill=name, path=path)
        return print_view(file, lambda: _print_file(file))
    found = chosen.call(contract.SHOW_SKILL, skill=name)
    return print_view(found, lambda: _print(found))


@app.command(cls=RemoteCommand)
def add(path: Path = FOLDER) -> int:
    """Add a skill, or a version of it; the agents that have it are published again."""
    try:
        files = read_path(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from None
    read_folder(files)  # what is wrong is said before anything is sent
    done = chosen.call(contract.SAVE_SKILL, {"archive": base64.b64encode(pack(files)).decode()})
    return _saved(done, f"{done.name} is v{done.version} now.")


@app.command(cls=RemoteCommand)
def remove(name: str = NAME, *, yes: bool = common.YES) -> int:
    """Remove a skill with its versions; agents must not have it."""
    server = chosen.backend()
    found = server.call(contract.SHOW_SKILL, skill=name)
    chosen.confirm_removal(one_line(found.name), yes=yes)
    server.call(contract.REMOVE_SKILL, skill=found.name)
    return chosen.print_removed(found.id, found.name, stays="runs that have loaded it continue")


@app.command(name="versions", cls=RemoteCommand)
def list_versions(name: str = NAME) -> int:
    """List the versions of a skill, the newest first."""
    return chosen.print_all(contract.LIST_SKILL_VERSIONS, VERSIONS, skill=name)


@app.command(cls=RemoteCommand)
def diff(name: str = NAME, older: int | None = FROM, newer: int | None = TO) -> int:
    """Show what changed between two versions of a skill."""
    found = chosen.call(contract.COMPARE_SKILL_VERSIONS, skill=name, older=older, newer=newer)
    return print_view(found, lambda: _print_diff(found))


@app.command(cls=RemoteCommand)
def rollback(name: str = NAME, number: int = NUMBER) -> int:
    """Restore an earlier version of a skill; its agents are published again."""
    done = chosen.call(contract.ROLL_SKILL_BACK, skill=name, number=number)
    return _saved(done, f"{done.name} is v{done.version} now.")


@app.command(cls=RemoteCommand)
def assign(name: str = NAME, agent: str = AGENT) -> int:
    """Give a skill to an agent, and publish the agent."""
    found = chosen.call(SHOW_AGENT, name=agent)
    return _change(found, [*_skills(found), name], f"{found.name} has the skill {name}")


@app.command(cls=RemoteCommand)
def unassign(name: str = NAME, agent: str = AGENT) -> int:
    """Take a skill from an agent, and publish the agent."""
    found = chosen.call(SHOW_AGENT, name=agent)
    if name not in _skills(found):
        raise CommandError(f"The agent {found.name} does not have the skill {one_line(name)}.")
    left = [skill for skill in _skills(found) if skill != name]
    return _change(found, left, f"{found.name} no longer has the skill {name}")


def _skills(agent: AgentDetailOut) -> list[str]:
    named = agent.definition.get("skills")
    return [str(name) for name in named] if isinstance(named, list) else []


def _change(agent: AgentDetailOut, skills: list[str], sentence: str) -> int:
    given = {"skills": list(dict.fromkeys(skills)), "version": agent.version}
    done = chosen.call(CHANGE_AGENT, given, name=agent.name)
    return print_done(done, f"{one_line(sentence)}: v{done.version}.")


def _saved(done: contract.SavedSkillOut, sentence: str) -> int:
    if done.note:
        note(done.note)
    for one in done.published:
        if one.problem:
            note(f"{one.agent} was not published again: {one.problem}")
        else:
            note(f"{one.agent} is published again: v{one.version}.")
    return print_done(done, sentence)


def _print(found: contract.SkillDetailOut) -> None:
    where = "ships with Heartbit" if found.shipped else "this workspace"
    metadata = ", ".join(f"{name} {value}" for name, value in sorted(found.metadata.items()))
    facts = [
        ("version", f"{found.version} ({found.hash[:HASH]})"),
        ("from", where),
        ("needs", ", ".join(found.allowed_tools)),
        ("agents", ", ".join(found.agents) or "none"),
        ("license", found.license),
        ("works with", found.compatibility),
        ("metadata", metadata),
    ]
    print_facts(f"{found.name}: {found.description}", facts)
    for file in found.files:
        write(f"  {file.size:>12,} {one_line(file.path)}")
    write(f"\n{visible(found.body)}")


def _print_file(file: contract.SkillContentOut) -> None:
    """Print text as it is, so that it can be redirected into a file; other content in base64."""
    if file.encoding == "base64":
        note(f"{file.path} is no text: its content follows in base64.")
        write(file.content)
    else:
        write_exactly(file.content)


def _print_diff(found: contract.SkillDiffOut) -> None:
    name = one_line(found.skill)
    if not found.changed:
        write(f"{name}: v{found.older} and v{found.newer} are the same.")
        return
    write(f"{name}: from v{found.older} to v{found.newer}")
    for change in found.fields:
        write(f"  {change.name}: {one_line(str(change.before))} -> {one_line(str(change.after))}")
    if found.body:
        write(f"  instructions\n{visible(found.body)}")
    for file in found.files:
        write(f"  {file.kind} {one_line(file.path)}")
        if file.diff:
            write(visible(file.diff))


STYLES: Final = {"shipped": "dim", "current": "green"}
SKILLS: Final = Table.of(
    contract.SkillOut,
    "SKILL=name VERSION FROM FILES=file_count AGENTS DESCRIPTION=description:300",
    styles=STYLES,
    none="No skills yet.",
    FROM=lambda one: "shipped" if one.shipped else "workspace",
    AGENTS=lambda one: counted(len(one.agents), "agent") if one.agents else "",
)
VERSIONS: Final = Table.of(
    contract.SkillVersionOut,
    "VERSION=number ADDED=created_at HASH=hash:.12 _=current",
    styles=STYLES,
)
