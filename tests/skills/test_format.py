"""Folders of skills: read, written, and every fault named with its place and its mend."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.skills import front_matter
from agents.skills.archive import InvalidSkillError
from agents.skills.folder import read_folder, shipped_skills
from agents.skills.spec import MAX_FILE_BYTES, MAX_FILES, SkillSpec
from tests.skills.folders import skill_files

BEGINNING = "---\nname: a\ndescription: b\n"


def fault_of(files: dict[str, bytes]) -> str:
    with pytest.raises(InvalidSkillError) as caught:
        read_folder(files)
    return str(caught.value)


def test_a_skill_is_read_with_everything_that_the_format_has() -> None:
    more = (
        "license: MIT\ncompatibility: Needs git\nmetadata: {author: Ann, version: 1.0}\n"
        "allowed-tools: Bash(git:*) Read, web_fetch\n"
    )
    folder = read_folder(skill_files(more=more, body="# Hi\n\nHello.", references__a=b"1"))
    assert folder.spec == SkillSpec(
        name="greeting",
        description="Greets people. Use it when somebody arrives.",
        license="MIT",
        compatibility="Needs git",
        metadata={"author": "Ann", "version": "1.0"},
        allowed_tools=["shell", "read", "web_fetch"],  # as Heartbit calls them
        body="# Hi\n\nHello.",
    )
    assert folder.files == {"references/a": b"1"}


def test_keys_of_other_products_are_kept_as_metadata_and_named() -> None:
    more = (
        "version: 1.2\nargument-hint: '[file]'\nuser-invocable: true\nmodel:\n"
        "hooks: {PreToolUse: [{matcher: Bash}]}\nmetadata: {author: Ann}\n"
    )
    folder = read_folder(skill_files(more=more))
    assert folder.spec.metadata == {
        "author": "Ann",
        "version": "1.2",
        "argument-hint": "[file]",
        "user-invocable": "true",
        "hooks": '{"PreToolUse": [{"matcher": "Bash"}]}',
    }
    assert folder.note == (
        "SKILL.md: kept as metadata, without an effect here: argument-hint, hooks, "
        "user-invocable, version (the settings of skills are name, description, license, "
        "compatibility, metadata, allowed-tools)."
    )
    again = read_folder({"SKILL.md": front_matter.compose(folder.spec).encode()})
    assert (again.spec, again.note) == (folder.spec, "")
    older_one = read_folder(older(**{"skill.json": OLDER | {"role": "x"}}))
    assert older_one.spec.metadata == {"version": "2.1", "role": "x"}
    assert older_one.note.startswith("skill.json: kept as metadata, without an effect here: role (")


def test_a_folder_inside_the_archive_is_the_skill_and_litter_is_none_of_it() -> None:
    inside = {f"pack/greeting/{path}": data for path, data in skill_files(a=b"1").items()}
    litter = {"__MACOSX/x": b"", "pack/greeting/.DS_Store": b"", "pack/greeting/.git/HEAD": b""}
    assert dict(read_folder(inside | litter).files) == {"a": b"1"}


@pytest.mark.parametrize(
    ("main", "sentence"),
    [
        ("", "SKILL.md begins with no front matter"),
        ("---\nname: a\n", "SKILL.md has front matter without an end: close it with a line ---"),
        ("---\nname: [\n---\nx", "SKILL.md, line 2: the front matter is no YAML"),
        ("---\n- a\n---\nx", "the front matter is no table: write lines such as name: my-skill"),
        ("---\na: &x 1\nb: *x\n---\nx", "it uses an alias (*name), which is not accepted"),
        ("---\na: !!python/name:os.system x\n---\nx", "the front matter is no YAML"),
        ("---\n" + "[" * 9_000 + "\n---\nx", "front matter cannot be read (it is nested deeper"),
        (
            f"{BEGINNING}metadata: {{a: 0x{'f' * 5_000}}}\n---\nx",
            "a number of more than 60 characters",
        ),
        (f"{BEGINNING}metadata: {{a: 1{':59' * 5_000}.5}}\n---\nx", "a number of more than 60"),
        (f"{BEGINNING}metadata: {{a: !!bool maybe}}\n---\nx", "a value does not fit its type"),
        (f"{BEGINNING}metadata: {{a: !!timestamp x}}\n---\nx", "a value does not fit its type"),
        (f"{BEGINNING}metadata: {{a: !!int ''}}\n---\nx", "a value does not fit its type"),
        ("---\n" + "a" * 30_000 + "\n---\nx", "more than 20000 characters of front matter"),
        ("---\na: 2026-99-99\n---\nx", "the front matter cannot be read (month must be in 1..12)"),
        ("---\nname: a\n---\nx", "SKILL.md: description is missing."),
        ("---\nname: A b\ndescription: b\n---\nx", 'name is "A b"; use lower-case letters'),
        ("---\nname: a--b\ndescription: b\n---\nx", "with single hyphens between them"),
        ("---\nname: 1\ndescription: b\n---\nx", "SKILL.md: name must be text in quotes, not 1."),
        (f"---\nname: a\ndescription: {'b' * 1025}\n---\nx", "description must have at most 1024"),
        (f"{BEGINNING}---\n", "SKILL.md: body must not be empty."),
        (f"{BEGINNING}body: x\n---\nx", "body is no key: write it below the front matter"),
        (f"{BEGINNING}a: x\nmetadata: {{a: y}}\n---\nx", "a is also under metadata: leave one"),
        (f"{BEGINNING}metadata: {{a: [1]}}\n---\nx", "metadata.a must be text in quotes"),
        (f"{BEGINNING}allowed-tools: 3\n---\nx", "allowed-tools must be an array, not 3."),
    ],
)
def test_what_is_wrong_with_a_main_file_is_named(main: str, sentence: str) -> None:
    assert sentence in fault_of({"SKILL.md": main.encode()})


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"README.md": b""}, "There is no SKILL.md in it: a skill is a folder"),
        ({"skill.md": b""}, "Rename skill.md to SKILL.md."),
        ({"a/SKILL.md": b"", "b/SKILL.md": b""}, "There are several skills in it (a, b)"),
        ({"a/SKILL.md": b"", "notes": b""}, "notes is not in the skill's folder, a: pack that"),
        ({"SKILL.md": b"\xff"}, "SKILL.md is no UTF-8 text: save it as UTF-8."),
        ({**skill_files(), "x" * 130: b""}, "is a path of more than 120 characters: shorten it."),
        ({**skill_files(), "a\x07": b""}, "has a name with control characters: rename it."),
        ({**skill_files(), "../a": b""}, "is not a plain relative path: rename it."),
        (skill_files(a=b"x" * (MAX_FILE_BYTES + 1)), "a has more than 4194304 bytes"),
        (skill_files() | dict.fromkeys("abc", b"x" * MAX_FILE_BYTES), "more than 8388608 bytes"),
        (skill_files() | {f"f{n}": b"" for n in range(MAX_FILES + 1)}, "leave at most 500"),
    ],
)
def test_what_is_wrong_with_a_folder_is_named(files: dict[str, bytes], sentence: str) -> None:
    assert sentence in fault_of(files)


def test_all_faults_are_named_at_once() -> None:
    said = fault_of({"SKILL.md": b"---\nname: A\nlicense: 3\n---\n"})
    for sentence in ('name is "A"', "description is missing", "license must be", "body must not"):
        assert sentence in said
    said = fault_of({"SKILL.md": b"---\nname: A\n---\nBody.", "a\\b": b""})
    assert "rename it" in said, "of the folder as well"
    assert "description is missing" in said


LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=40)
TEXT = LINE.map(str.strip).filter(bool)
BODY = st.lists(LINE, min_size=1).map("\n".join).map(str.strip).filter(bool)


@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3), BODY)
def test_a_skill_that_is_written_is_read_as_the_same(
    description: str, license_name: str, metadata: dict[str, str], body: str
) -> None:
    spec = SkillSpec(
        name="a-b",
        description=description,
        license=license_name,
        metadata=metadata,
        allowed_tools=["web_fetch"],
        body=body,
    )
    assert front_matter.parse(front_matter.compose(spec)) == spec


OLDER = {"name": "greeting", "description": "Greets.", "version": "2.1", "tools": ["web_fetch"]}


def older(**files: object) -> dict[str, bytes]:
    found = {"skill.json": OLDER, "system-prompt.md": "Say hello.", **files}
    return {
        name: (text if isinstance(text, str) else json.dumps(text)).encode()
        for name, text in found.items()
        if text is not None
    }


def test_the_older_format_becomes_the_open_one() -> None:
    flows = [{"name": "arrival", "description": "Somebody comes.", "steps": []}, {"id": "leave"}]
    folder = read_folder(older(**{"workflows.json": flows, "notes.txt": "x"}))
    assert (folder.spec.name, folder.spec.description) == ("greeting", "Greets.")
    assert folder.spec.metadata == {"version": "2.1"}
    assert folder.spec.allowed_tools == ["web_fetch"]
    assert folder.spec.body == (
        "Say hello.\n\n## Workflows\n\nTheir steps are in references/workflows.json: read it "
        "before you begin one.\n\n- arrival: Somebody comes.\n- leave"
    )
    assert sorted(folder.files) == ["notes.txt", "references/workflows.json"]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (older(**{"system-prompt.md": None}), "There is no system-prompt.md beside skill.json"),
        (older(**{"skill.json": "{"}), "skill.json cannot be read: "),
        (older(**{"skill.json": []}), "skill.json is no JSON object"),
        (older(**{"skill.json": OLDER | {"required_tools": []}}), "say the same: keep one."),
        (older(**{"workflows.json": "["}), "workflows.json cannot be read: "),
    ],
)
def test_what_is_wrong_with_the_older_format_is_named(
    files: dict[str, bytes], sentence: str
) -> None:
    assert sentence in fault_of(files)


def test_the_shipped_skills_are_those_that_are_promised() -> None:
    names = [folder.spec.name for folder in shipped_skills()]
    assert names == ["customer-support", "research", "sales-assistant", "scheduling", "writing"]
    for folder in shipped_skills():
        mentioned = {path for path in folder.files if path in folder.spec.body}
        assert mentioned == set(folder.files), "a file that the instructions do not name"
