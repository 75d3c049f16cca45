"""Skills as rows: versions, what agents pin of them, what they need, and who may change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError, transaction

from agents.actions.publish_agent import publish_agent, republish_agents
from agents.actions.rollback_agent import RollbackRefusedError, rollback_agent
from agents.actions.save_agent import change_agent, create_agent
from agents.actions.skills import record_shipped_skills, remove_skill, rollback_skill, save_skill
from agents.definitions.snapshot_diff import compare
from agents.definitions.spec import AgentSpec
from agents.definitions.validation_messages import InvalidSettingError
from agents.errors import ShippedSkillError, SkillInUseError
from agents.models import Agent, Skill, SkillFile, SkillVersion, ToolBinding
from agents.reads.skills import find_skill, skills_in
from agents.reads.versions import VersionNotFoundError
from agents.runtime.files.skill_files import content_of, files_of
from agents.skills import snapshot
from agents.skills.folder import shipped_skills
from heartbit_site.base import audit
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry
from heartbit_site.config.apply import import_config
from heartbit_site.config.build import build
from heartbit_site.config.export import export
from tests.skills.folders import skill_files, skill_folder
from tools.actions.credentials import save_credential
from tools.models import Credential

if TYPE_CHECKING:
    from agents.models import AgentVersion
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db
ANNA = audit.Actor("anna", "terminal")
NEEDS = "allowed-tools: web_search calculate\n"


def agent(workspace: Workspace, name: str = "greeter", **fields: Any) -> Agent:
    row = Agent.objects.create(workspace=workspace, name=name, system_prompt="p", **fields)
    publish_agent(row)
    return row


def version_of(row: Agent) -> AgentVersion:
    found = Agent.objects.get(pk=row.pk).current_version
    assert found is not None
    return found


def actions(workspace: Workspace) -> list[tuple[str, dict[str, Any]]]:
    rows = AuditEntry.objects.filter(workspace=workspace, action__startswith="skill.")
    return list(rows.order_by("pk").values_list("action", "details"))


def test_a_skill_gets_versions_and_the_same_content_makes_none(workspace: Workspace) -> None:
    first = save_skill(workspace, skill_folder(a=b"1", b=b"1"), by=ANNA)
    again = save_skill(workspace, skill_folder(a=b"1", b=b"1"), by=ANNA)
    second = save_skill(workspace, skill_folder(a=b"1", c=b"2"), by=ANNA)
    back = save_skill(workspace, skill_folder(a=b"1", b=b"1"), by=ANNA)
    numbers = [(one.version.number, one.before, bool(one)) for one in (first, again, second, back)]
    assert numbers == [(1, None, True), (1, 1, False), (2, 1, True), (1, 2, True)]
    skill = find_skill(workspace, "greeting")
    assert SkillFile.objects.filter(skill=skill).count() == 2  # each content once
    assert dict(files_of(second.version)) == {
        **{path: data for path, data in skill_files(a=b"1", c=b"2").items() if path != "SKILL.md"},
        "SKILL.md": skill_main(),
    }
    assert actions(workspace) == [
        ("skill.add", {"version": [None, 1]}),
        ("skill.change", {"version": [1, 2]}),
        ("skill.change", {"version": [2, 1]}),
    ]


def skill_main() -> bytes:
    return (
        b"---\nname: greeting\ndescription: Greets people. Use it when somebody arrives.\n---\n\n"
        b"Say hello.\n"
    )


@pytest.mark.parametrize("model", [SkillVersion, SkillFile])
def test_the_database_keeps_what_versions_pin(workspace: Workspace, model: Any) -> None:
    save_skill(workspace, skill_folder(a=b"1"), by=ANNA)
    with pytest.raises(OperationalError, match="append-only"), transaction.atomic():
        model.objects.filter(skill__workspace=workspace).update(hash="x")


def test_a_difference_names_instructions_settings_and_files(workspace: Workspace) -> None:
    picture, long = b"\xff\xd8", b"x" * 200_001
    old = skill_folder("greeting", "Old.", kept=b"1", text=b"a\nb\n", gone=b"1", pic=picture)
    new = skill_folder("greeting", "New.", body="Hi.", kept=b"1", text=b"a\nc\n", long=long)
    first = save_skill(workspace, old, by=ANNA).version
    second = save_skill(workspace, new, by=ANNA).version
    found = snapshot.compare(
        first.snapshot, second.snapshot, lambda digest: content_of(second, digest)
    )
    assert found.body == "@@ -1 +1 @@\n-Say hello.\n+Hi."
    assert [(c.name, c.before, c.after) for c in found.fields] == [("description", "Old.", "New.")]
    assert [(file.path, file.kind, file.diff) for file in found.files] == [
        ("gone", "removed", "@@ -1 +0,0 @@\n-1"),
        ("long", "added", ""),
        ("pic", "removed", ""),
        ("text", "changed", "@@ -1,2 +1,2 @@\n a\n-b\n+c"),
    ]


def test_an_agent_pins_the_version_and_is_published_again_with_a_new_one(
    workspace: Workspace,
) -> None:
    first = save_skill(workspace, skill_folder(), by=ANNA).version
    row = agent(workspace, skills=["greeting"])
    other = agent(workspace, "other")
    pinned = version_of(row)
    assert pinned.snapshot["skills"] == [
        {"name": "greeting", "description": first.description, "hash": first.hash}
    ]
    assert "skills" not in version_of(other).snapshot
    saved = save_skill(workspace, skill_folder(body="Hi."), by=ANNA)
    assert [(one.agent.name, one.made is not None) for one in saved.led] == [("greeter", True)]
    now = version_of(row)
    assert now.number == 2
    [change] = compare(pinned.snapshot, now.snapshot).skills
    assert (change.name, change.kind, change.definition) == ("greeting", "changed", True)
    assert compare(pinned.snapshot, now.snapshot).sentence() == "skill greeting: its definition"


def test_a_rollback_makes_an_earlier_version_current_and_publishes(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder(), by=ANNA)
    row = agent(workspace, skills=["greeting"])
    before = version_of(row)
    save_skill(workspace, skill_folder(body="Hi."), by=ANNA)
    skill = find_skill(workspace, "greeting")
    assert rollback_skill(skill, 1, by=ANNA).version.number == 1
    assert version_of(row) == before
    assert actions(workspace)[-1] == ("skill.rollback", {"to": 1, "version": [2, 1]})
    with pytest.raises(VersionNotFoundError, match="The skill greeting has no version 7"):
        rollback_skill(skill, 7, by=ANNA)


def test_an_agent_is_rolled_back_with_its_skills(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder(), by=ANNA)
    row = agent(workspace, skills=["greeting"])
    Agent.objects.filter(pk=row.pk).update(skills=[])
    publish_agent(row)
    rollback_agent(row, 1, by=ANNA)
    assert Agent.objects.get(pk=row.pk).skills == ["greeting"]
    save_skill(workspace, skill_folder(body="Hi."), by=ANNA)
    with pytest.raises(RollbackRefusedError, match="greeting is described differently now"):
        rollback_agent(row, 1, by=ANNA)
    done = rollback_agent(row, 1, by=ANNA, anyway=True)
    assert done.differs == "skill greeting: its definition"
    Agent.objects.filter(pk=row.pk).update(skills=[])
    remove_skill(find_skill(workspace, "greeting"), by=ANNA)
    with pytest.raises(RollbackRefusedError, match="the skill greeting no longer exists"):
        rollback_agent(row, 1, by=ANNA)


def test_a_skill_that_agents_have_is_not_removed(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder(a=b"1"), by=ANNA)
    row = agent(workspace, skills=["greeting"])
    skill = find_skill(workspace, "greeting")
    with pytest.raises(SkillInUseError, match="is a skill of greeter: take it from them first"):
        remove_skill(skill, by=ANNA)
    Agent.objects.filter(pk=row.pk).update(skills=[])
    remove_skill(skill, by=ANNA)
    assert not Skill.objects.filter(workspace=workspace).exists()
    assert actions(workspace)[-1][0] == "skill.remove"


def refusal(workspace: Workspace, skills: list[str], **more: Any) -> str:
    spec = AgentSpec.model_validate(
        {"name": "new", "description": "d", "system_prompt": "p", "skills": skills, **more}
    )
    with pytest.raises(InvalidSettingError) as caught:
        create_agent(workspace, spec, by=ANNA)
    assert caught.value.path == ("skills", 0)
    assert not Agent.objects.filter(workspace=workspace, name="new").exists()
    return str(caught.value)


def test_what_a_skill_needs_is_checked_when_an_agent_is_saved(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder(more=NEEDS), by=ANNA)
    strange = skill_folder("strange", more="allowed-tools: fly\n")
    save_skill(workspace, strange, by=ANNA)
    assert refusal(workspace, ["greetings"]).endswith(
        'skills[0] names the unknown skill "greetings"; did you mean greeting?'
    )
    assert "needs the tool fly, and this installation has no such tool" in refusal(
        workspace, ["strange"]
    )
    assert "needs the tools web_search and calculate: give the agent that too" in refusal(
        workspace, ["greeting"]
    )
    given = ["web_search", "calculate"]
    said = refusal(workspace, ["greeting"], tools=given)
    assert "which cannot work yet: web_search needs a credential" in said
    made = Credential(workspace=workspace, name="search", kind="searxng")
    save_credential(made, {"url": "https://search.example"}, by=SYSTEM)
    spec = AgentSpec.model_validate(
        {
            "name": "new",
            "description": "d",
            "system_prompt": "p",
            "skills": ["greeting"],
            "tools": given,
        }
    )
    assert create_agent(workspace, spec, by=ANNA).row.skills == ["greeting"]
    change = spec.model_copy(update={"tools": []})
    with pytest.raises(InvalidSettingError, match="needs the tools web_search and calculate"):
        change_agent(workspace, "new", change, {"tools"}, by=ANNA)
    Credential.objects.all().delete()  # the agent stays editable
    change_agent(workspace, "new", spec, {"max_turns"}, by=ANNA)


def test_a_version_that_needs_more_leaves_agents_as_they_are(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder(), by=ANNA)
    row = agent(workspace, skills=["greeting"])
    before = version_of(row)
    saved = save_skill(workspace, skill_folder(more=NEEDS), by=ANNA)
    [one] = saved.led
    assert one.made is None
    assert "needs the tools web_search and calculate" in one.problem
    assert version_of(row) == before


def test_names_of_skills_are_checked_by_the_setting_itself() -> None:
    with pytest.raises(ValueError, match='names "a" twice'):
        AgentSpec.model_validate(
            {"name": "x", "description": "d", "system_prompt": "p", "skills": ["a", "a"]}
        )


@pytest.fixture
def shipped(workspace: Workspace) -> Skill:
    record_shipped_skills()
    return find_skill(workspace, "writing")


def test_shipped_skills_are_there_for_every_workspace_and_only_to_be_used(
    workspace: Workspace, shipped: Skill
) -> None:
    assert shipped.shipped
    for refused in (
        lambda: remove_skill(shipped, by=ANNA),
        lambda: rollback_skill(shipped, 1, by=ANNA),
    ):
        with pytest.raises(ShippedSkillError, match="writing ships with Heartbit"):
            refused()
    before = Skill.objects.filter(workspace=None).count(), SkillVersion.objects.count()
    record_shipped_skills()
    assert (Skill.objects.filter(workspace=None).count(), SkillVersion.objects.count()) == before


def test_a_workspaces_own_skill_replaces_a_shipped_one_until_it_is_removed(
    workspace: Workspace, shipped: Skill
) -> None:
    row = agent(workspace, skills=["writing"])
    hashes = [version_of(row).snapshot["skills"][0]["hash"]]
    own = save_skill(workspace, skill_folder("writing"), by=ANNA)
    assert [one.agent.name for one in own.led] == ["greeter"]
    hashes.append(version_of(row).snapshot["skills"][0]["hash"])
    assert [skill.name for skill in skills_in(workspace.pk)].count("writing") == 1
    led = remove_skill(find_skill(workspace, "writing"), by=ANNA)
    assert [one.agent.name for one in led] == ["greeter"]
    hashes.append(version_of(row).snapshot["skills"][0]["hash"])
    assert hashes[0] == hashes[2] == shipped.current_version.hash != hashes[1]  # type: ignore[union-attr]


def test_an_upgrade_brings_new_versions_of_shipped_skills_to_their_agents(
    workspace: Workspace, shipped: Skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = agent(workspace, skills=["writing"])
    other = agent(workspace, "other")
    before, untouched = version_of(row), version_of(other)
    newer = (skill_folder("writing", "Writes."),)
    monkeypatch.setattr("agents.actions.skills.shipped_skills", lambda: newer)
    record_shipped_skills()
    assert "greeter" in republish_agents()  # beside the agents of other tests
    assert version_of(row).snapshot["skills"][0]["description"] == "Writes."
    assert version_of(row).number == before.number + 1
    assert version_of(other) == untouched
    assert not Skill.objects.filter(workspace=None).exclude(name="writing").exists()


def test_a_configuration_file_names_skills_and_is_exported_with_them(workspace: Workspace) -> None:
    save_skill(workspace, skill_folder(), by=ANNA)
    table = {"name": "greeter", "description": "d", "system_prompt": "p", "skills": ["greeting"]}
    import_config(workspace, build({"agents": [table]}, {}), by=ANNA)
    assert version_of(Agent.objects.get(workspace=workspace, name="greeter")).snapshot["skills"]
    assert 'skills = ["greeting"]' in export(workspace)


def test_a_tool_for_skills_can_be_bound_like_any_other(workspace: Workspace) -> None:
    row = agent(workspace)
    ToolBinding.objects.create(agent=row, tool="load_skill", approval="always")
    assert publish_agent(row).tool_names == ["load_skill"]


def test_the_folders_of_shipped_skills_are_read_once() -> None:
    assert shipped_skills() is shipped_skills()
