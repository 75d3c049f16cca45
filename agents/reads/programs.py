"""Programs that a run has executed, the files that they left, and the main one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.db.models.functions import Length

from agents.loop.execution_mode import code_in, is_work
from agents.models import Artifact, ToolCall
from agents.output.programs import TOOLS, ExecutedProgram, read_program
from agents.output.results import MAX_ARTIFACTS, ArtifactOut

#: Longest file that a result holds itself, in bytes.
MAX_FILE_BYTES: Final = 65_536
_CUT: Final = "\n[cut: "


def programs_of(run_ids: Collection[UUID]) -> Mapping[UUID, list[ExecutedProgram]]:
    """Return the programs of runs, in the order of their calls."""
    fields = ("run_id", "call_id", "status", "arguments", "result")
    calls = ToolCall.objects.filter(run__in=run_ids, tool__in=TOOLS).order_by("id")
    found: defaultdict[UUID, list[Any]] = defaultdict(list)
    for run_id, *call in calls.values_list(*fields):
        found[run_id].append(call)
    return {run_id: programs_in(rows, run_id) for run_id, rows in found.items()}


def programs_in(calls: Sequence[Any], run_id: UUID) -> list[ExecutedProgram]:
    """Return the programs of a run's calls: id, status, arguments and result of each."""
    return [
        read_program(status, arguments, _whole(run_id, call_id, result))
        for call_id, status, arguments, result in calls
    ]


def _whole(run_id: UUID, call_id: str, result: str | None) -> str | None:
    """Return a result that was cut for the model as it was stored."""
    if result is None or _CUT not in result:
        return result
    names = [f"{tool}-{call_id}-" for tool in TOOLS]
    rows = Artifact.objects.filter(run=run_id, name__regex=f"^({'|'.join(names)})[0-9a-f]{{8}}$")
    stored = rows.values_list("content", flat=True).last()
    return result if stored is None else bytes(stored).decode("utf-8", "replace")


def files_of(programs: Sequence[ExecutedProgram], run_id: UUID) -> list[ArtifactOut]:
    """Return the files that programs left, without the content of long ones and of bytes."""
    names = [name for program in programs for name in program.files.values()][:MAX_ARTIFACTS]
    if not names:
        return []
    rows = Artifact.objects.filter(run=run_id, name__in=names)
    small = rows.annotate(length=Length("content")).filter(size__lte=MAX_FILE_BYTES)
    contents = dict(small.values_list("name", "content"))
    return [
        ArtifactOut(kind="file", name=name, content=_text(contents.get(name)), language="")
        for name in dict.fromkeys(names)
    ]


def _text(content: bytes | memoryview | None) -> str:
    try:
        return bytes(content or b"").decode()
    except UnicodeDecodeError:
        return ""


def main_program(
    programs: Sequence[ExecutedProgram], mode: str | None, task: str, answer: str
) -> ExecutedProgram | None:
    """Return the program that is the data of a run's result; None if its agent executes none.

    It is the last one executed, whose end decides about success if the execution mode asked for
    execution; else the last code of the answer, which was only shown.

    Args:
        programs: The run's programs.
        mode: Execution mode of its agent; None: never.
        task: Its task.
        answer: Its answer.
    """
    if mode in (None, "never"):
        return None
    if programs:
        return replace(programs[-1], decides=mode != "task" or is_work(task))
    shown = code_in(answer)
    if not shown:
        return None
    return ExecutedProgram(shown[-1].code, executed=False, exit_code=None, output="", error="")
