"""The tool that runs code, in the installation's sandbox."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from pydantic import Field

from heartbit_site.base import orm
from heartbit_site.base.toolspec import Effect, ToolContext, tool
from tools.sandbox.choice import find_sandbox
from tools.sandbox.program import Ended, Language, Limits, Program

_SECONDS = 60  # of the call; the program has Limits.seconds of them

Name = Annotated[str, Field(min_length=1, max_length=200)]


# Nothing outside can be reached, so that nothing is done twice: it may run again.
@tool(effect=Effect.PURE, timeout_seconds=_SECONDS, tags=("builtin", "code"))
async def run_code(
    context: ToolContext,
    language: Annotated[Language, Field(description="Language of the code.")],
    code: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200_000,
            description="The whole program. What it prints is the result.",
        ),
    ],
    files: Annotated[
        dict[Name, str] | None,
        Field(max_length=50, description="Text files for its folder, by relative path."),
    ] = None,
    artifacts: Annotated[
        list[Name] | None,
        Field(max_length=20, description="Names of this run's artifacts to put into its folder."),
    ] = None,
    skills: Annotated[
        list[Name] | None,
        Field(
            max_length=5,
            description="Names of your skills whose files to put there, each in skills/NAME/.",
        ),
    ] = None,
) -> dict[str, Any]:
    """Run a program and read what it prints.

    It has no network and sees only its own folder, which is empty but for the files given here.
    Files that it leaves there are stored as artifacts of this run. It has 30 seconds and 512 MB.
    """
    given = {name: text.encode() for name, text in (files or {}).items()}
    for name in artifacts or ():
        given[name] = await orm.run_in_thread(partial(_read, context, name))
    for name in skills or ():
        given |= await orm.run_in_thread(partial(skill_files, context, name))
    sandbox = await find_sandbox()
    ended = await sandbox.run(Program(language, code, given, Limits()))
    new = {name: data for name, data in ended.files.items() if given.get(name) != data}
    stored = await orm.run_in_thread(partial(_store, context, new))
    return describe(ended, stored)


def describe(ended: Ended, stored: dict[str, str]) -> dict[str, Any]:
    """Return a program's end as the model reads it; what is empty is left out."""
    found = {
        "exit_code": ended.code,
        "ended": "" if ended.ending == "exited" else f"It was ended: {ended.ending}.",
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "artifacts": stored,
        "not_kept": list(ended.refused),
        "sandbox": ended.sandbox,
    }
    return {name: value for name, value in found.items() if value not in ("", {}, [], None)}


def skill_files(context: ToolContext, name: str) -> dict[str, bytes]:
    """Return the files of one of the agent's skills by their paths in a program's folder.

    Raises:
        ValueError: There are no skills here.
        HeartbitError: The agent has no skill of that name.
    """
    if context.read_skill is None:
        raise ValueError("There are no skills here: give the text in files instead.")
    return {f"skills/{name}/{path}": data for path, data in context.read_skill(name).items()}


def _read(context: ToolContext, name: str) -> bytes:
    if context.read_artifact is None:
        raise ValueError("There are no artifacts here: give the text in files instead.")
    return context.read_artifact(name)


def _store(context: ToolContext, files: dict[str, bytes]) -> dict[str, str]:
    """Store files; return their artifacts' names by the files' own."""
    if context.store_artifact is None:
        return {}
    return {name: context.store_artifact(name, data) for name, data in sorted(files.items())}
