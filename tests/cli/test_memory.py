"""`heartbit memory`, here and against a server, as a person uses it."""

from __future__ import annotations

import json
import secrets
import zipfile
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from agents.models import Agent, LearnedMemory
from heartbit_site.base.models import AuditEntry, Membership
from heartbit_site.cli.terminal.errors import USAGE
from memory.models import MemoryItem, MemoryPolicy
from tests.admin.rows import Held
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("memory")


@pytest.fixture
def ann(workspace: Workspace) -> str:
    user = User.objects.create(username=f"ann-{secrets.token_hex(4)}")
    Membership.objects.create(workspace=workspace, user=user)
    return user.username


def test_a_memory_is_added_found_changed_forgotten_and_undone(
    place: Place, workspace: Workspace, ann: str
) -> None:
    whose = ("--agent", "writer", "--person", ann)
    done = place("add", "Ann is drinking green tea.", *whose, "--importance", "7")
    assert (done.code, done.err) == (0, "")
    row = MemoryItem.objects.get(workspace=workspace)
    assert (row.scope, row.agent, row.importance) == ("person", "writer", 7)
    number = str(row.pk)
    found = place("recall", "drink", "--person", ann)
    assert "has drinking; learned " in found.out
    assert "Nothing fits." in place("recall", "drink", "--agent", "other").out
    place("change", number, "Ann drinks coffee.", "--reason", "May")
    assert place("forget", number).out == f"Memory {number} is forgotten.\n"
    assert "No memories." in place("list", "--agent", "writer").out
    assert "coffee" in place("list", "--forgotten").out
    assert "Ann drinks coffee." in place("undo", number).out
    idle = f"idle-{secrets.token_hex(4)}"  # no worker takes the run
    Agent.objects.filter(workspace=workspace, name="researcher").update(queue=idle)
    held = Held(start_run(workspace, "I drink coffee.", agent="researcher"))
    held.finish("Noted.")
    LearnedMemory.objects.create(run_id=held.id, item=row, turn=1, replaced=True)
    shown = place("show", number).out
    assert f"run {held.id}, turn 1" in shown
    assert "before: Ann is drinking green tea.; reason: May" in shown
    assert "forgotten (undone)" in shown
    [listed] = json.loads(place("list", "--json").out)["memories"]
    assert (listed["text"], listed["person"]) == ("Ann drinks coffee.", ann)


def test_a_person_is_erased_and_the_audit_has_no_word_of_it(
    place: Place, workspace: Workspace, ann: str
) -> None:
    place("add", "Ann has canary-91.", "--agent", "writer", "--person", ann)
    place("add", "The shop sells tea.", "--scope", "workspace")
    assert place("clear", ann).code == USAGE, "no terminal"
    assert place("clear", ann, "--yes").out == f"Erased 1 memory of {ann}.\n"
    assert [row.text for row in MemoryItem.objects.filter(workspace=workspace)] == [
        "The shop sells tea."
    ]
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="memory.")
    assert "canary-91" not in str(list(entries.values()))
    assert set(entries.values_list("action", flat=True)) == {"memory.remembered", "memory.erase"}
    erased = place("clear", ann, "--runs", "--yes")
    assert erased.out == f"Erased 0 memories and 0 runs of {ann}.\n"


def test_settings_are_shown_and_changed(place: Place, workspace: Workspace) -> None:
    assert "none: found by words only" in place("settings").out
    assert "30" in place("settings", "--kept-days", "30").out
    said = json.loads(place("settings", "--embedding-model", "", "--json").out)
    expected = {"embedding_model": "", "problem": "", "kept_days": 30, "tier_days": None}
    assert said == expected, "not named: as before"
    assert "for ever" in place("settings", "--kept-days", "0").out
    assert place("settings", "--kept-days", "8").code == USAGE
    MemoryPolicy.objects.filter(workspace=workspace).delete()


def test_wrong_words_are_answered_with_what_is_missing(place: Place, workspace: Workspace) -> None:
    assert "needs an agent" in place("add", "x", "--scope", "agent").err
    unnamed = place("add", "x", "--person", "")
    assert "There is no person" not in unnamed.err, "an empty name is none"
    assert (
        "There is no agent named 'writr'"
        in place("add", "x", "--scope", "agent", "--agent", "writr").err
    )
    unnamed = place("add", "The house closes at ten.")
    assert unnamed.code != 0
    assert "give the person, or the scope agent or workspace" in unnamed.err
    assert "belongs to no agent" in place("add", "x", "--scope", "workspace", "--agent", "a").err
    assert "no member 'nemo'" in place("clear", "nemo", "--yes").err
    assert "There is no such memory in the workspace" in place("show", "999999999").err


def test_a_person_is_exported_into_a_file(
    place: Place, workspace: Workspace, ann: str, tmp_path: Path
) -> None:
    place("add", "Ann drinks tea.", "--agent", "writer", "--person", ann)
    file = tmp_path / "ann.zip"
    done = place("export", ann, str(file))
    assert done.out == f"Wrote 2 rows of {ann} to {file}.\n", done.err
    with zipfile.ZipFile(file) as packed:
        assert b"Ann drinks tea." in packed.read("memory_memoryitem.jsonl")
    assert file.stat().st_mode & 0o777 == 0o600
    again = place("export", ann, str(file))
    assert (again.code, "--force" in again.err) == (USAGE, True)
    actions = AuditEntry.objects.filter(workspace=workspace, action="person.export")
    assert actions.count() == 2
