"""`--file` and `--archive`: files for a run's folder, here and at a server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from agents.models import Agent, Artifact, Run, WorkFile
from heartbit_site.base.archives import pack
from tests.api.test_pictures import drawn

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


def test_pictures_are_shown_to_the_agent(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    Agent.objects.filter(workspace=workspace).update(
        model="openai:fake", queue="nobody-serves-this"
    )
    (tmp_path / "a.png").write_bytes(drawn())
    (tmp_path / "b.jpg").write_bytes(drawn("JPEG"))
    given = (f"--image={tmp_path}/a.png", f"--image={tmp_path}/b.jpg")
    ended = place("submit", "What is it?", "--agent", "writer", *given)
    assert ended.code == 0, ended.err
    kept = Artifact.objects.filter(run=UUID(ended.out.strip())).order_by("name")
    assert sorted(one.content_type for one in kept) == ["image/jpeg", "image/png"]
    (tmp_path / "c.png").write_bytes(b"no picture")
    for name, said in (("c.png", "c.png is no PNG, JPEG, GIF or WebP"), ("d", "d cannot be read")):
        refused = place("submit", "x", "--agent", "writer", "--image", f"{tmp_path}/{name}")
        assert (refused.code, said in refused.err) == (2, True), refused.err
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_a_run_in_this_process_shows_pictures_too(heartbit: Command, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(drawn())
    task = "What is it? [[text: Red.]]"
    given = ("--agent", "writer", "--json", "--image", f"{tmp_path}/a.png", "-m", "openai:fake")
    ended = heartbit("run", task, *given)
    assert ended.code == 0, ended.err
    assert Artifact.objects.get(run=ended.json["id"]).name.endswith("-picture-1.png")
