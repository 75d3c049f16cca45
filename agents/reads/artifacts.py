"""Artifacts of a run and its sub-agents, and the files of the folder that they work in.

Usage::

    for one in produced_below(run): ...         # the run's first, then those of its sub-agents
    artifact = find_artifact(run, "code-1")
    file_name(artifact)                         # code-1.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from agents.choices import TERMINAL, DeliveryKind
from agents.errors import ArtifactNotFoundError, RunStateError, WorkFileNotFoundError
from agents.models import Artifact, Delivery, Run, WorkFile
from agents.output.programs import ExecutedProgram
from agents.output.results import ArtifactOut, artifacts_in
from agents.reads.programs import programs_of
from heartbit_site.base.artifact_names import stored_file
from heartbit_site.base.errors import Remedy

#: Languages that are called like the extension of their files.
_EXTENSIONS: Final = (
    *("c", "cpp", "css", "csv", "diff", "go", "html", "java", "js", "json", "md", "py"),
    *("sh", "sql", "toml", "ts", "xml", "yaml"),
)
#: File extensions by language. A model writes the language, so no other text becomes a file name.
_ENDINGS: Final = {
    "bash": "sh",
    "c++": "cpp",
    "javascript": "js",
    "markdown": "md",
    "python": "py",
    "ruby": "rb",
    "rust": "rs",
    "shell": "sh",
    "typescript": "ts",
    "yml": "yaml",
} | {extension: extension for extension in _EXTENSIONS}


@dataclass(frozen=True, slots=True)
class Produced:
    """An artifact with its run.

    Attributes:
        place: Position in the list, unique in the tree.
        artifact: Without its content, if it is a stored result.
        size: Bytes of its content.
    """

    run_id: UUID
    agent: str
    place: str
    artifact: ArtifactOut
    size: int


def produced_below(run: Run) -> list[Produced]:
    """Return the artifacts of a subtree, the oldest run's first.

    Parts of an answer are there once their run has ended, stored results at once.
    """
    fields = ("parent_id", "agent", "status", "output", "structured")
    rows = Run.objects.filter(root_id=run.root_id).only(*fields)
    children: defaultdict[UUID | None, list[Run]] = defaultdict(list)
    for row in rows:
        children[row.parent_id].append(row)
    found = [row for row in rows if row.pk == run.pk]
    for row in found:  # the list grows during the loop
        found += children[row.pk]
    kept = kept_names([row.pk for row in found])
    programs = programs_of([row.pk for row in found])
    stored: defaultdict[UUID, list[Artifact]] = defaultdict(list)
    for one in Artifact.objects.filter(run__in=[row.pk for row in found]).defer("content"):
        stored[one.run_id].append(one)
    produced = []
    for row in sorted(found, key=lambda row: row.pk):
        produced += [
            Produced(
                row.pk,
                row.agent,
                f"{row.pk}.{number:04d}",
                artifact,
                len(artifact.content.encode()),
            )
            for number, artifact in enumerate(
                _artifacts(row, kept.get(row.pk, ()), programs.get(row.pk, ()))
            )
        ]
        produced += [
            Produced(row.pk, row.agent, f"{row.pk}.stored.{one.pk:019d}", _stored(one), one.size)
            for one in stored[row.pk]
        ]
    return produced


def find_artifact(run: Run, name: str) -> ArtifactOut:
    """Return the artifact of a run with that name, a stored result included.

    Raises:
        ArtifactNotFoundError: The run has no artifact of that name.
        RunStateError: The run has not ended, so it has no artifacts yet.
    """
    stored = Artifact.objects.filter(run=run, name=name).first()
    if stored is not None:
        return _stored(stored, bytes(stored.content).decode("utf-8", "replace"))
    if run.status not in TERMINAL:
        raise RunStateError(f"The run is {run.status}: it has artifacts once it has ended.")
    programs = programs_of([run.pk]).get(run.pk, ())
    for artifact in _artifacts(run, kept_names([run.pk]).get(run.pk, ()), programs):
        if artifact.name == name:
            return artifact
    raise ArtifactNotFoundError(
        f"The run has no artifact {name!r}.",
        remedy=Remedy("artifacts.list_artifacts", values={"run_id": str(run.pk)}),
    )


def stored_content(run: Run, name: str) -> bytes | None:
    """Return the content of a stored artifact of a run, or None if none has that name."""
    stored = Artifact.objects.filter(run=run, name=name).values_list("content", flat=True).first()
    return None if stored is None else bytes(stored)


def kept_names(run_ids: Collection[UUID]) -> Mapping[UUID, list[str]]:
    """Return the names under which runs keep their whole answer as a file, in their order.

    These are their targets of the kind ``artifact``. Nothing is copied: the file is the answer,
    available from the run's end until it is deleted.
    """
    orders = Delivery.objects.filter(run_id__in=run_ids, kind=DeliveryKind.ARTIFACT)
    found: defaultdict[UUID, list[str]] = defaultdict(list)
    for run_id, target in orders.order_by("run_id", "position").values_list("run_id", "target"):
        found[run_id].append(str(target["name"]))
    return dict(found)


def file_name(artifact: ArtifactOut) -> str:
    """Return the artifact's file name; the extension is txt if the language is unknown."""
    file = stored_file(artifact.name)
    return file or f"{artifact.name}.{_ENDINGS.get(artifact.language, 'txt')}"


def _stored(row: Artifact, content: str = "") -> ArtifactOut:
    language = "json" if row.content_type == "application/json" else ""
    return ArtifactOut(kind="data", name=row.name, content=content, language=language)


def _artifacts(
    run: Run, kept: Sequence[str], programs: Sequence[ExecutedProgram]
) -> list[ArtifactOut]:
    if run.status not in TERMINAL:
        return []
    return artifacts_in(run.output or "", run.structured, kept=kept, programs=programs)


def work_files(run: Run) -> list[WorkFile]:
    """Return the files of a run's folder by path, without their contents."""
    rows = WorkFile.objects.filter(root=run.root_id).order_by("path", "-id").distinct("path")
    newest = WorkFile.objects.filter(pk__in=rows.values("pk"), content__isnull=False)
    return list(newest.defer("content").order_by("path"))


def work_file(run: Run, path: str) -> bytes:
    """Return the content of a file.

    Raises:
        WorkFileNotFoundError: The folder has no file of that path now.
    """
    row = WorkFile.objects.filter(root=run.root_id, path=path).order_by("-id").first()
    if row is None or row.content is None:
        raise WorkFileNotFoundError(
            f"The run's folder has no file {path[:200]!r}.",
            remedy=Remedy("work_files.list_work_files", values={"run_id": str(run.pk)}),
        )
    return bytes(row.content)
