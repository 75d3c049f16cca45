"""Tools that run code in the installation's sandbox, without a network or with some hosts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field

from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Effect, Label, ToolContext, tool
from tools.sandbox.choice import find_sandbox
from tools.sandbox.program import Ended, Language, Limits, Program, SandboxError

_SECONDS = 60  # of the call; the program has Limits.seconds of them

_NAMED = 5  # refused files that are named one by one

Name = Annotated[str, Field(min_length=1, max_length=200)]
CodeLanguage = Annotated[Language, Field(description="Language of the code.")]
Code = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200_000,
        description="The whole program. What it prints is the result.",
    ),
]
Files = Annotated[
    dict[Name, str] | None,
    Field(max_length=50, description="Text files for its folder, by relative path."),
]
Artifacts = Annotated[
    list[Name] | None,
    Field(max_length=20, description="Names of this run's artifacts to put into its folder."),
]
Skills = Annotated[
    list[Name] | None,
    Field(
        max_length=5,
        description="Names of your skills whose files to put there, each in skills/NAME/.",
    ),
]


# Nothing outside can be reached, so that nothing is done twice: it may run again.
@tool(effect=Effect.PURE, timeout_seconds=_SECONDS, tags=("builtin", "code"), labels=())
async def run_code(
    context: ToolContext,
    language: CodeLanguage,
    code: Code,
    files: Files = None,
    artifacts: Artifacts = None,
    skills: Skills = None,
) -> dict[str, Any]:
    """Run a program and read what it prints.

    It has no network and sees only its own folder, which is empty but for the files given here.
    Files that it leaves there are stored as artifacts of this run. It has 30 seconds and 512 MB.
    """
    given = await _given(context, files, artifacts, skills)
    return await _run(context, Program(language, code, given, Limits()))


@tool(
    effect=Effect.AT_MOST_ONCE,
    timeout_seconds=_SECONDS,
    tags=("builtin", "code"),
    labels=(Label.UNTRUSTED, Label.OUTBOUND),
    summary="Run a {language} program that reaches {hosts}",
)
async def run_code_online(
    context: ToolContext,
    language: CodeLanguage,
    code: Code,
    hosts: Annotated[
        list[Name],
        Field(
            min_length=1,
            max_length=20,
            description="The hosts that it reaches, e.g. api.example.com. There are no others.",
        ),
    ],
    files: Files = None,
    artifacts: Artifacts = None,
    skills: Skills = None,
) -> dict[str, Any]:
    """Run a program that reaches some hosts, and read what it prints.

    It reaches the hosts by http and https through the proxy of its environment, which most clients
    use by themselves, and nothing else. In all other respects it is as with run_code.
    """
    names = tuple(dict.fromkeys(name.lower().rstrip(".") for name in hosts))
    open_hosts: tuple[str, ...] = settings.HEARTBIT_SANDBOX_HOSTS
    if closed := [name for name in names if name not in open_hosts]:
        raise SandboxError(
            f"Programs may not reach {', '.join(closed)}; open are: "
            f"{', '.join(open_hosts) or 'none'}. An operator sets HEARTBIT_SANDBOX_HOSTS."
        )
    given = await _given(context, files, artifacts, skills)
    return await _run(context, Program(language, code, given, Limits(), names))


async def _given(
    context: ToolContext,
    files: dict[str, str] | None,
    artifacts: list[str] | None,
    skills: list[str] | None,
) -> dict[str, bytes]:
    """Return the files of a program's folder by path."""
    given = {name: text.encode() for name, text in (files or {}).items()}
    for name in artifacts or ():
        given[name] = await orm.run_in_thread(partial(artifact_content, context, name))
    for name in skills or ():
        given |= await orm.run_in_thread(partial(skill_files, context, name))
    return given


async def _run(context: ToolContext, program: Program) -> dict[str, Any]:
    sandbox = await find_sandbox()
    ended = await sandbox.run(program)
    given = program.files
    new = {name: data for name, data in ended.files.items() if given.get(name) != data}
    stored, refused = await orm.run_in_thread(partial(_store, context, new))
    return describe(ended, stored, refused)


def describe(ended: Ended, stored: dict[str, str], refused: Sequence[str] = ()) -> dict[str, Any]:
    """Return a program's end as the model reads it; what is empty is left out.

    Args:
        ended: The program's end.
        stored: Artifacts' names by the names of the files that were stored as such.
        refused: Sentences on files for which there is no room, beside those that the sandbox kept.
    """
    found = {
        "exit_code": ended.code,
        "ended": "" if ended.ending == "exited" else f"It was ended: {ended.ending}.",
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "artifacts": stored,
        "not_kept": [*ended.refused, *refused],
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


def artifact_content(context: ToolContext, name: str) -> bytes:
    """Return the content of an artifact of the call's run.

    Raises:
        ValueError: There are no artifacts here.
        HeartbitError: The run has stored none of that name.
    """
    if context.read_artifact is None:
        raise ValueError("There are no artifacts here: give the text in files instead.")
    return context.read_artifact(name)


def _store(context: ToolContext, files: dict[str, bytes]) -> tuple[dict[str, str], list[str]]:
    """Store files; return their artifacts' names by the files' own, and what was refused."""
    stored, refused = dict[str, str](), list[str]()
    if context.store_artifact is not None:
        for name, data in sorted(files.items()):
            try:
                stored[name] = context.store_artifact(name, data)
            except HeartbitError as error:
                refused.append(str(error))
    more = len(refused) - _NAMED
    if more > 0:
        refused[_NAMED:] = [f"{more} more files were not stored for the same reason."]
    return stored, refused
