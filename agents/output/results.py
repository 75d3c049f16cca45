"""Result of a run, in one form for every interface. Pure.

Usage::

    result = build("succeeded", text=output, data=structured, error=None, metrics=metrics)
    result.model_dump()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, PrivateAttr

from agents.output.fences import fenced
from agents.output.programs import ExecutedProgram
from agents.output.text import as_text
from heartbit_site.base.view import View

if TYPE_CHECKING:
    from heartbit_site.base.untrusted import JSONValue

MAX_ARTIFACTS = 200
_UNSUCCESSFUL = frozenset({"failed", "cancelled", "quarantined"})


class ArtifactOut(View):
    """One thing that a run produced."""

    kind: Literal["code", "file", "data", "log"]
    name: str
    content: str = Field(
        description="Empty for a stored file that is long or no text: fetch it by its name."
    )
    language: str


class MetricsOut(View):
    """Use of a run; at the top of a tree with its sub-agents."""

    duration_ms: int
    queued_ms: int
    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: str | None = Field(description="Null: a price is unknown.")


class ResultOut(View):
    """Result of a run."""

    status: Literal["success", "failure", "partial"]
    data: JsonValue = Field(
        description=(
            "The structured answer; of a run that was to execute code and has none, the last "
            "program: {output, error, code, exit_code, executed}."
        )
    )
    text: str
    artifacts: list[ArtifactOut]
    metrics: MetricsOut
    error: str | None
    finish_reason: str | None = Field(description="length: the answer was cut at max_tokens.")
    reviewed_by: str | None = Field(
        default=None, description="Person who approved or edited it; null: no one reviewed it."
    )
    _is_program: bool = PrivateAttr(default=False)

    @property
    def structured(self) -> JsonValue:
        """The structured answer alone; None if the data is a program, or there is none."""
        return None if self._is_program else self.data


def build(
    status: str,
    *,
    text: str,
    data: JSONValue,
    error: str | None,
    metrics: MetricsOut,
    kept: Sequence[str] = (),
    finish_reason: str | None = None,
    left_out: str = "",
    programs: Sequence[ExecutedProgram] = (),
    files: Sequence[ArtifactOut] = (),
    ran: ExecutedProgram | None = None,
    reviewed_by: str = "",
) -> ResultOut:
    """Return the result of a run that has ended.

    Args:
        status: Status of the run: ``succeeded``, ``failed``, ``cancelled`` or ``quarantined``.
        text: Answer, or the last text before the end.
        data: Structured answer, if any.
        error: Reason for not succeeding.
        metrics: Time and usage.
        kept: Names under which the whole answer is also an artifact.
        finish_reason: Reason for the end of the last answer.
        reviewed_by: Person who approved the result; empty: no one reviewed it.
        left_out: What failed although the run succeeded; its result is then partial.
        programs: Programs that it executed.
        files: Files that these left.
        ran: The program that the task was about; its end decides about success, and it is the data
            of a result without a structured answer.

    Raises:
        ValueError: The run has not ended.
    """
    succeeded = status == "succeeded"
    if not succeeded and status not in _UNSUCCESSFUL:
        raise ValueError(f"a run that is {status!r} has no result")
    is_something = bool(text.strip()) or data is not None
    problem = ran.problem if succeeded and ran is not None else ""
    artifacts = artifacts_in(text, data, kept=kept, programs=programs, files=files)
    result = ResultOut(
        status=_status(succeeded, problem, left_out, is_something=is_something),
        data=ran.data() if data is None and ran is not None else data,
        text=text,
        artifacts=artifacts,
        metrics=metrics,
        error=(problem or left_out or None) if succeeded else error or f"The run was {status}.",
        finish_reason=finish_reason,
        reviewed_by=reviewed_by or None,
    )
    result._is_program = data is None and ran is not None
    return result


def _status(
    succeeded: bool,  # noqa: FBT001
    problem: str,
    left_out: str,
    *,
    is_something: bool,
) -> Literal["success", "failure", "partial"]:
    if problem:
        return "failure"
    if succeeded:
        return "partial" if left_out else "success"
    return "partial" if is_something else "failure"


def artifacts_in(
    text: str,
    data: JSONValue,
    *,
    kept: Sequence[str] = (),
    programs: Sequence[ExecutedProgram] = (),
    files: Sequence[ArtifactOut] = (),
) -> list[ArtifactOut]:
    """Return the artifacts of a run that has ended.

    These are the non-empty code blocks of its text, the structured answer, the whole answer, if
    there is one, under each of the names in ``kept``, what its programs printed, and the files that
    they left; at most ``MAX_ARTIFACTS`` of blocks, of logs and of files.
    """
    blocks = [block for block in fenced(text) if block.content.strip()][:MAX_ARTIFACTS]
    found = [
        ArtifactOut(
            kind="code", name=f"code-{number}", content=block.content, language=block.language
        )
        for number, block in enumerate(blocks, start=1)
    ]
    whole, language = text, "markdown"
    if data is not None:
        whole, language = as_text(data), "text" if isinstance(data, str) else "json"
        found.append(ArtifactOut(kind="data", name="data", content=whole, language=language))
    if whole.strip():
        found += [
            ArtifactOut(kind="file", name=name, content=whole, language=language) for name in kept
        ]
    logs = [
        ArtifactOut(kind="log", name=f"log-{number}", content=program.log, language="text")
        for number, program in enumerate(programs, start=1)
        if program.log
    ]
    return [*found, *logs[:MAX_ARTIFACTS], *files[:MAX_ARTIFACTS]]
