"""`heartbit skills`, here and against a server, as a person uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.actions.skills import record_shipped_skills
from agents.models import Agent, Skill
from agents.skills.archive import pack
from heartbit_site.cli.terminal.errors import FAILED, USAGE
from tests.skills.folders import skill_files

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("skills")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "greeting", body="Say hello.", words=b"Hej.")


def written(folder: Path, *, body: str, words: bytes) -> Path:
    for name, data in skill_files(body=body, references__words=words).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_a_skill_is_added_shown_given_changed_rolled_back_and_removed(
    place: Place, workspace: Workspace, folder: Path
) -> None:
    publish_agent(Agent.objects.get(workspace=workspace, name="writer"))
    assert place("add", str(folder)).out == "greeting is v1 now.\n"
    shown = place("show", "greeting").out
    assert shown.startswith("greeting: Greets people. Use it when somebody arrives.\n")
    assert "4 references/words\n" in shown
    assert shown.endswith("\nSay hello.\n")
    assert place("show", "greeting", "references/words").out == "Hej."  # as it is
    assert place("show", "greeting", "SKILL.md").out.startswith("---\nname: greeting\n")
    given = place("assign", "greeting", "writer")
    assert given.out.startswith("writer has the skill greeting: v")
    assert "1 agent" in place("list").out
    written(folder, body="Say hi.", words=b"Hey.")
    changed = place("add", str(folder))
    assert changed.out == "greeting is v2 now.\n"
    assert "writer is published again: v" in changed.err
    diff = place("diff", "greeting", "1", "2").out
    assert "-Say hello.\n+Say hi." in diff
    assert "changed references/words\n@@ -1 +1 @@\n-Hej.\n+Hey." in diff
    assert "current" in place("versions", "greeting").out
    assert place("rollback", "greeting", "1").out == "greeting is v1 now.\n"
    kept = place("remove", "greeting", "--yes")
    assert (kept.code, Skill.objects.filter(workspace=workspace).count()) == (USAGE, 1)
    assert "greeting is a skill of writer: take it from them first." in kept.err
    taken = place("unassign", "greeting", "writer")
    assert taken.out.startswith("writer no longer has the skill greeting: v")
    assert place("remove", "greeting", "--yes").code == 0
    assert not Skill.objects.filter(workspace=workspace).exists()


def test_keys_that_are_kept_as_metadata_are_said(place: Place, tmp_path: Path) -> None:
    folder = written(tmp_path / "greeting", body="Say hello.", words=b"Hej.")
    main = folder / "SKILL.md"
    main.write_text(main.read_text().replace("---\n", "---\nargument-hint: '[name]'\n", 1))
    added = place("add", str(folder))
    assert added.out == "greeting is v1 now.\n"
    assert "kept as metadata, without an effect here: argument-hint (" in added.err


def test_an_archive_is_added_too_and_printed_as_json(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    archive = tmp_path / "skill.zip"
    archive.write_bytes(pack({f"x/{name}": data for name, data in skill_files().items()}))
    done = json.loads(place("add", str(archive), "--json").out)
    assert (done["name"], done["version"], done["shipped"]) == ("greeting", 1, False)
    assert json.loads(place("show", "greeting", "--json").out)["body"] == "Say hello."


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("add", "/nowhere"), FAILED, "/nowhere cannot be read: No such file or directory."),
        (("show", "greetings"), USAGE, "There is no skill named 'greetings'"),
        (("show", "writing", "x"), USAGE, "The skill writing has no file 'x'; its files are:"),
        (("remove", "writing"), USAGE, "Say --yes if writing may go."),
        (("remove", "writing", "--yes"), USAGE, "writing ships with Heartbit and stays"),
        (("rollback", "writing", "9"), USAGE, "writing ships with Heartbit and has the version"),
        (("assign", "nothing", "writer"), USAGE, 'skills[0] names the unknown skill "nothing"'),
        (("assign", "research", "writer"), USAGE, "needs the tools web_search and web_fetch"),
        (("unassign", "writing", "writer"), FAILED, "writer does not have the skill writing."),
    ],
)
def test_what_is_wrong_is_one_sentence(
    place: Place, workspace: Workspace, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    record_shipped_skills()
    publish_agent(Agent.objects.get(workspace=workspace, name="writer"))
    ended = place(*arguments)
    assert ended.code == code
    assert sentence in ended.err


def test_a_folder_with_faults_is_refused_before_anything_is_sent(
    place: Place, workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: X\n---\n")
    ended = place("add", str(tmp_path))
    assert ended.code != 0
    assert 'SKILL.md: name is "X"; use lower-case letters' in ended.err
    assert "SKILL.md: description is missing." in ended.err


def test_shipped_skills_are_listed_with_those_of_the_workspace(
    place: Place, workspace: Workspace, folder: Path
) -> None:
    record_shipped_skills()
    place("add", str(folder))
    lines = place("list").out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "SKILL", "customer-support", "greeting", "research", "sales-assistant", "scheduling",
        "writing",
    ]  # fmt: skip
