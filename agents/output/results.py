"""What a run gave, in one form for every surface. Pure.

Usage::

    result = build("succeeded", text=output, data=structured, error=None, metrics=metrics)
    result.as_dict()
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from agents.output.fences import fenced
from agents.output.text import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.base.untrusted import JSONValue

ResultStatus = Literal["success", "failure", "partial"]
ArtifactKind = Literal["code", "file", "data", "log"]

MAX_ARTIFACTS = 200
_UNSUCCESSFUL = frozenset({"failed", "cancelled", "quarantined"})


@dataclass(frozen=True, slots=True)
class Artifact:
    """One thing that a run produced.

    Attributes:
        kind: What it is.
        name: Unique in its result.
        content: Its text.
        language: Of code, as its author called it (``python``), or of data (``json``); may be
            empty.
    """

    kind: ArtifactKind
    name: str
    content: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Metrics:
    """What a run took.

    Attributes:
        duration_ms: From its creation to its end.
        queued_ms: Of that, until a worker first had it.
        model_calls: Answers received from models.
        tool_calls: Calls that the models made.
        input_tokens: Tokens read by the models.
        output_tokens: Tokens written by the models.
        cost_usd: A decimal number in US dollars; None: a price is unknown.
    """

    duration_ms: int = 0
    queued_ms: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: str | None = None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The outcome of a run.

    Attributes:
        status: ``partial``: it did not succeed, but there is something to show.
        data: The structured answer; None when there is none.
        text: The answer, or what there was of it.
        artifacts: In the order of the text, then the data, then the whole answer where it is kept.
        metrics: What it took.
        error: Why it did not succeed, as one sentence; None when it did.
    """

    status: ResultStatus
    data: JSONValue
    text: str
    artifacts: tuple[Artifact, ...]
    metrics: Metrics
    error: str | None

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        return {**asdict(self), "artifacts": [asdict(artifact) for artifact in self.artifacts]}


def build(
    status: str,
    *,
    text: str,
    data: JSONValue,
    error: str | None,
    metrics: Metrics,
    kept: Sequence[str] = (),
) -> TaskResult:
    """The result of a run that has ended.

    Args:
        status: Of the run: ``succeeded``, ``failed``, ``cancelled`` or ``quarantined``.
        text: Its answer, or the last text before its end.
        data: Its structured answer, if any.
        error: Why it did not succeed.
        metrics: What it took.
        kept: The names under which the whole answer is an artifact as well.

    Raises:
        ValueError: The run has not ended.
    """
    succeeded = status == "succeeded"
    if not succeeded and status not in _UNSUCCESSFUL:
        raise ValueError(f"a run that is {status!r} has no result")
    something = bool(text.strip()) or data is not None
    return TaskResult(
        status="success" if succeeded else "partial" if something else "failure",
        data=data,
        text=text,
        artifacts=artifacts_in(text, data, kept=kept),
        metrics=metrics,
        error=None if succeeded else error or f"The run was {status}.",
    )


def artifacts_in(text: str, data: JSONValue, *, kept: Sequence[str] = ()) -> tuple[Artifact, ...]:
    """What a run that has ended produced.

    The code blocks of its text that hold anything (at most ``MAX_ARTIFACTS``), the data, and the
    whole answer under each name that it is kept by, if there is an answer.
    """
    blocks = [block for block in fenced(text) if block.content.strip()][:MAX_ARTIFACTS]
    found = [
        Artifact("code", f"code-{number}", block.content, block.language)
        for number, block in enumerate(blocks, start=1)
    ]
    whole, language = text, "markdown"
    if data is not None:
        whole, language = as_text(data), "text" if isinstance(data, str) else "json"
        found.append(Artifact("data", "data", whole, language))
    if whole.strip():
        found += [Artifact("file", name, whole, language) for name in kept]
    return tuple(found)
