"""Files of the folder that a run tree works in, as they are now."""

from __future__ import annotations

from agents.errors import WorkFileNotFoundError
from agents.models import Run, WorkFile
from heartbit_site.base.errors import Remedy


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
