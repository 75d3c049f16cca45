"""`--file` and `--archive`: files for a run's folder, here and at a server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from agents.models import Agent, Run, WorkFile
from heartbit_site.base.archives import pack

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place
    from tests.command import Command


def test_a_repository_is_handed_over(place: Place, workspace: Workspace, tmp_path: Path) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("x")
    (repo / "app.py").write_text("print(1)\n")
    (tmp_path / "data.bin").write_bytes(bytes(range(256)))
    (tmp_path / "docs.zip").write_bytes(pack({"docs/a.md": b"# A"}))
    given = (f"--file={repo}", f"--file={tmp_path}/data.bin", f"--archive={tmp_path}/docs.zip")
    ended = place("submit", "x", "--agent", "writer", *given)
    assert ended.code == 0, ended.err
    files = WorkFile.objects.filter(root=UUID(ended.out.strip()))
    assert {file.path: bytes(file.content or b"") for file in files} == {
        "repo/app.py": b"print(1)\n",
        "data.bin": bytes(range(256)),
        "docs/a.md": b"# A",
    }
    missing = place("submit", "x", "--agent", "writer", "--file", f"{tmp_path}/none")
    assert missing.code == 3
    assert "none cannot be read: No such file or directory." in missing.err
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_a_run_in_this_process_has_them_too(heartbit: Command, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    task = "x [[text: Done.]]"
    ended = heartbit("run", task, "--agent", "writer", "--json", "--file", f"{tmp_path}/data.csv")
    assert ended.code == 0, ended.err
    [file] = WorkFile.objects.filter(root=ended.json["id"])
    assert (file.path, bytes(file.content or b"")) == ("data.csv", b"a,b\n")
