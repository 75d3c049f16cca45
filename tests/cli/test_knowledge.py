"""`heartbit knowledge`, here and against a server, as a person uses it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from heartbit_site.cli.terminal.errors import FAILED, USAGE
from memory.actions.ingest_documents import ingest_documents
from memory.models import Document, KnowledgeBase
from tests.fleet import wait_until
from tests.memory.knowledge import documents

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("knowledge")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / ".hidden").write_text("x")
    (tmp_path / "docs" / "handbook.md").write_text(documents.MARKDOWN)
    page = documents.pdf(["The canteen opens at noon."])
    # Larger than other requests may be.
    (tmp_path / "docs" / "sub" / "canteen.pdf").write_bytes(page + b"\n%" + b"x" * 1_500_000)
    return tmp_path / "docs"


def test_documents_are_added_read_found_shown_and_deleted(
    place: Place, workspace: Workspace, folder: Path
) -> None:
    made = place("create", "handbook", "--description", "Rules of the house")
    assert (made.code, made.out) == (0, "The knowledge base handbook is saved.\n")
    added = place("add", "handbook", str(folder), "--source", "https://wiki.example/")
    assert (added.code, added.out) == (0, "handbook.md: added\nsub/canteen.pdf: added\n")
    assert "`heartbit knowledge documents handbook` shows progress." in added.err
    read = Document.objects.filter(base__workspace=workspace, state="ready")
    assert place("documents", "handbook").out.count("handbook.md") == 1
    ingest_documents(goes_on=lambda: True)
    wait_until(lambda: read.count() == 2, what="what a worker reads beside it")
    assert place("add", "handbook", str(folder)).out.count("unchanged") == 2
    listed = json.loads(place("documents", "handbook", "--json").out)["documents"]
    assert [(one["name"], one["state"], one["passage_count"]) for one in listed] == [
        ("handbook.md", "ready", 3),
        ("sub/canteen.pdf", "ready", 1),
    ]
    assert listed[0]["source"] == "https://wiki.example/"
    found = place("search", "when does the canteen open", "--base", "handbook")
    assert "sub/canteen.pdf, page 1" in found.out
    assert "has canteen, opens" in found.out
    assert "Found by words only: there is no embedding model." in found.err
    [hit] = json.loads(place("search", "laptop", "--json").out)["hits"]
    assert hit["passage"]["headings"] == ["Handbook", "Security"]
    shown = place("show", str(hit["passage"]["id"])).out
    assert shown.startswith("handbook.md: Handbook > Security (passage 3)\nhttp")
    assert shown.endswith("\nReport a lost laptop to the helpdesk within one hour.\n")
    detail = json.loads(place("show", str(hit["passage"]["id"]), "--json").out)
    assert (detail["before"]["headings"][-1], detail["after"]) == ("Travel", None)
    assert "Rules of the house" in place("list").out
    gone = place("remove", "handbook", "handbook.md", "--yes")
    assert gone.out == "Removed handbook.md; journals keep what runs have read.\n"
    assert "Nothing fits." in place("search", "laptop").out
    assert place("delete", "handbook", "--yes").code == 0
    assert not KnowledgeBase.objects.filter(workspace=workspace).exists()
    assert not Document.objects.filter(base__workspace=workspace).exists()


def test_files_of_a_folder_that_cannot_be_added_are_all_named_and_cost_no_other(
    place: Place, workspace: Workspace, folder: Path
) -> None:
    (folder / "a picture.png").write_bytes(b"\x89PNG\r\n\0")
    (folder / "empty.md").write_bytes(b"")
    (folder / "large.txt").write_bytes(b"x" * 10_000_001)
    (folder / "sub" / "gone.md").symlink_to(folder / "nowhere.md")
    (folder / "z.md").write_text("The last one.")
    (folder / ".notes.md").write_text("Hidden.")
    os.mkfifo(folder / "sub" / "pipe")
    place("create", "handbook")
    added = place("add", "handbook", str(folder), str(folder / "none.md"))
    assert added.out == "handbook.md: added\nz.md: added\nsub/canteen.pdf: added\n"
    assert added.code == FAILED
    for said in (
        "a picture.png is not a readable document: add text, Markdown, HTML, PDF or DOCX.",
        "empty.md is empty.",
        "large.txt is too large: a document has at most 10,000,000 bytes.",
        "gone.md cannot be read: No such file or directory.",
        "none.md cannot be read: No such file or directory.",
        "pipe is not a plain file.",
        "heartbit: 6 files left out, 3 kept.",
        "Hidden files and folders are not added unless they are named: ",
        f"{folder / '.notes.md'}.",
        "`heartbit knowledge documents handbook` shows progress.",
    ):
        assert said in added.err
    again = place("add", "handbook", str(folder), "--json")
    assert again.code == FAILED
    found = json.loads(again.out)
    assert [one["outcome"] for one in found["documents"]] == ["unchanged"] * 3
    pipe = str(folder / "sub" / "pipe")
    names = ["a picture.png", "empty.md", "large.txt", "sub/gone.md", pipe]
    assert [one["name"] for one in found["left_out"]] == names
    assert found["left_out"][1]["problem"].endswith("empty.md is empty.")
    place("delete", "handbook", "--yes")


def test_files_of_one_name_and_linked_folders_are_named_instead_of_lost(
    place: Place, workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "handbook.md"
    other.write_text("Another one.")
    (folder / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "secret.md").write_text("Elsewhere.")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "sub" / "canteen.pdf").unlink()
    place("create", "handbook")
    added = place("add", "handbook", str(folder), str(folder / "handbook.md"), str(other.parent))
    assert added.out == "handbook.md: added\nhandbook.md: unchanged\n"
    assert added.code == FAILED
    said = f"heartbit: {other} would replace {folder / 'handbook.md'}, which is the document"
    assert said in added.err
    assert f"{folder / 'linked'} is a link to a folder, which is not followed" in added.err
    assert f"{folder / 'out.md'} is a link out of the folder, which is not followed" in added.err
    (tmp_path / "bare").mkdir()
    bare = place("add", "handbook", str(tmp_path / "bare"))
    assert (bare.code, bare.out) == (0, "")
    assert "nothing was added" in bare.err
    place("delete", "handbook", "--yes")


def test_a_base_follows_a_folder_of_the_drive(place: Place, workspace: Workspace) -> None:
    assert place("create", "handbook", "--drive-folder", "/rules/").code == 0
    [base] = json.loads(place("list", "--json").out)["knowledge_bases"]
    assert base["drive_folder"] == "rules"
    assert place("refresh", "handbook").out == "A worker will import the files of rules.\n"
    place("create", "handbook", "--description", "Rules")
    [base] = json.loads(place("list", "--json").out)["knowledge_bases"]
    assert base["drive_folder"] == "rules", "what is not named stays"
    place("create", "handbook", "--drive-folder", "rules")
    [base] = json.loads(place("list", "--json").out)["knowledge_bases"]
    assert base["description"] == "Rules"
    assert "is not a valid file name" in place("create", "handbook", "--drive-folder", "../x").err
    place("create", "handbook", "--drive-folder", "")
    assert "handbook follows no folder" in place("refresh", "handbook").err
    place("delete", "handbook", "--yes")


def test_what_is_not_there_or_cannot_be_read_is_said_in_one_sentence(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    for command in (("documents", "none"), ("add", "none", __file__), ("delete", "none", "--yes")):
        ended = place(*command)
        assert ended.code == USAGE
        assert "The workspace has no knowledge base 'none'" in ended.err
    place("create", "handbook")
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\0")
    refused = place("add", "handbook", str(picture))
    assert "a.png is not a readable document: add text, Markdown, HTML, PDF or DOCX." in (
        refused.err
    )
    assert "The workspace has no such passage" in place("show", "999999999").err
    assert "has no document 'x'" in place("remove", "handbook", "x", "--yes").err
    assert "The name 'No!' is not valid" in place("create", "No!").err
    assert place("delete", "handbook", "--yes").code == 0
