"""Files that a request gives to the run that it starts (S11: archives of strangers)."""

from __future__ import annotations

import base64
import io
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Agent, Run
from heartbit_site.base.archives import pack

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def parked(workspace: Workspace) -> str:
    """An agent whose queue nobody serves: its runs stay where they are."""
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    return "writer"


def test_files_and_an_archive_are_in_the_run_s_folder(caller: Caller, parked: str) -> None:
    archive = pack({"app.py": b"old", "src/x.py": b"x", ".git/HEAD": b"x", ".gitignore": b"y"})
    body = {"files": {"app.py": coded(b"new\n")}, "archive": coded(archive), "agent": parked}
    run = caller.submit("Look.", **body)
    found = caller.get(f"/runs/{run['id']}/files").json()["files"]
    assert {file["path"]: file["size"] for file in found} == {
        "app.py": 4,
        "src/x.py": 1,
        ".gitignore": 1,
    }
    content = caller.http.get(f"/runs/{run['id']}/files/content", params={"path": "app.py"})
    assert content.content == b"new\n"


def _link() -> bytes:
    stream = io.BytesIO()
    entry = zipfile.ZipInfo("entry")
    entry.create_system, entry.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("given", "code", "sentence"),
    [
        ({"files": {"a.txt": "?"}}, "refused_files", "a.txt is not base64: encode its bytes."),
        ({"archive": "?"}, "refused_files", "archive is not base64: encode its bytes."),
        (
            {"archive": coded(b"no zip")},
            "refused_files",
            "The archive cannot be read as zip",
        ),
        ({"archive": coded(_link())}, "refused_files", "The archive has a link or device"),
        ({"files": {"../a": ""}}, "folder", "The path '../a' is not a plain relative path."),
        ({"files": {"": ""}}, "folder", "The path '' has no name of 1 to 200 characters."),
    ],
)
def test_what_cannot_be_a_file_is_one_sentence_and_starts_nothing(
    caller: Caller,
    parked: str,
    workspace: Workspace,
    given: dict[str, Any],
    code: str,
    sentence: str,
) -> None:
    refused = caller.post("/runs", {"task": "x", "agent": parked, **given})
    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert refused.json()["detail"].startswith(sentence)
    assert not Run.objects.filter(workspace=workspace).exists()
