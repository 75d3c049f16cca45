"""Result of a run, in one form for every surface. Pure.

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
    """One product of a run.

    Attributes:
        name: Unique in its result.
        language: Language of code as its author named it (``python``), or ``json`` for data; may be
            empty.
    """

    kind: ArtifactKind
    name: str
    content: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Time and usage of a run.

    Attributes:
        duration_ms: From its creation to its end.
        queued_ms: Part of ``duration_ms`` until a worker first claimed the run.
        cost_usd: Decimal number of US dollars; None if a price is unknown.
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
    """Outcome of a run.

    Attributes:
        status: ``partial`` if the run did not succeed but has text or data.
        text: Answer, or the part that was produced.
        artifacts: Code blocks of the text, then the data, then the whole answer under its artifact
            names.
        error: Reason for not succeeding, as one sentence; None if the run succeeded.
    """

    status: ResultStatus
    data: JSONValue
    text: str
    artifacts: tuple[Artifact, ...]
    metrics: Metrics
    error: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON."""
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
    """Return the result of a run that has ended.

    Args:
        status: Status of the run: ``succeeded``, ``failed``, ``cancelled`` or ``quarantined``.
        text: Answer, or the last text before the end.
        data: Structured answer, if any.
        error: Reason for not succeeding.
        metrics: Time and usage.
        kept: Names under which the whole answer is an artifact as well.

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
    """Return the artifacts of a run that has ended.

    These are the non-empty code blocks of its text (at most ``MAX_ARTIFACTS``), the data, and the
    whole answer, if there is one, under each of the names in ``kept``.
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
