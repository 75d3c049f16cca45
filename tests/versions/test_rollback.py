"""Versions: what changed between two, and back to one so that the form shows the truth."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User

from agents.actions.publish_agent import publish_agent
from agents.actions.rollback_agent import RollbackRefusedError, rollback_agent
from agents.actions.save_agent import change_agent
from agents.definitions.snapshot_diff import compare
from agents.definitions.validation_messages import InvalidSettingError
from agents.errors import AgentNotFoundError
from agents.models import Agent, AgentVersion, Run, ToolBinding
from agents.reads.agents import spec_of
from agents.reads.versions import (
    VersionNotFoundError,
    find_editable,
    pair,
    versions_of,
)
from heartbit_site.base.audit import Actor
from tests.installed import uninstall
from tests.starts import start_run
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

ANNA = Actor("anna", "terminal")

pytestmark = pytest.mark.django_db


def version(agent: Agent, number: int) -> AgentVersion:
    return AgentVersion.objects.get(agent=agent, number=number)


def test_a_difference_names_everything_that_changed_and_nothing_else(keeper: Agent) -> None:
    first, second, third = (version(keeper, number) for number in (1, 2, 3))
    found = compare(first.snapshot, second.snapshot)
    assert found.prompt == "@@ -1,2 +1,2 @@\n One.\n-Two.\n+Three."
    assert not found.fields
    assert not found.tools
    assert [(change.name, change.kind) for change in found.team] == [("writer", "added")]
    found = compare(second.snapshot, third.snapshot)
    assert not found.prompt
    assert {change.name: (change.before, change.after) for change in found.fields} == {
        "retry.max_retries": (3, 7),
        "context_strategy.type": ("unlimited", "last_messages"),
        "context_strategy.count": (None, 4),
        "limits.max_turns": (10, 3),
        "strong_model": (None, "openai:gpt-6-sol"),
    }
    assert [(change.name, change.kind) for change in found.tools] == [
        *(("calculate", "removed"), ("current_time", "added"))
    ]
    assert "limits.max_turns 10 -> 3" in found.sentence()
    assert not compare(third.snapshot, third.snapshot)
    nothing: dict[str, object] = {"prompt": "", "fields": []}
    nothing |= {"tools": [], "team": [], "skills": []}
    assert compare(third.snapshot, third.snapshot).model_dump() == nothing


def test_an_older_format_differs_by_what_was_changed_alone(keeper: Agent) -> None:
    new = version(keeper, 1).snapshot
    later = ("stop", "retry", "approval", "fallback_models")
    old = {name: value for name, value in new.items() if name not in later}
    old["format"] = 1
    old["tools"] = [{"name": tool["name"], "hash": tool["hash"]} for tool in new["tools"]]
    [change] = compare(old, new).tools
    assert [f.name for f in change.fields] == ["defaults"]
    assert not compare(old, new).fields
    [changed] = compare(old, {**new, "approval": "always"}).fields
    assert (changed.name, changed.before, changed.after) == ("approval", "never", "always")


def test_a_changed_tool_says_whether_it_is_its_definition_or_its_settings(keeper: Agent) -> None:
    before = version(keeper, 1).snapshot
    [tool] = before["tools"]
    after = {**before, "tools": [{**tool, "hash": "0" * 64, "approval": "always"}]}
    [change] = compare(before, after).tools
    assert (change.kind, change.definition) == ("changed", True)
    assert [(f.name, f.after) for f in change.fields] == [("approval", "always")]


@pytest.mark.parametrize("number", [1, 2])
def test_a_rollback_writes_the_form_back_and_publishing_gives_the_same_version(
    keeper: Agent, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run.objects.get(pk=start_run(keeper.workspace, "x", agent="keeper"))
    user = User.objects.create(username="anna")
    with caplog.at_level(logging.INFO, "agents.actions.rollback_agent"):
        done = rollback_agent(keeper, number, by=Actor("anna", "admin", user.pk))
    assert (done.version.number, done.differs) == (number, "")
    row = Agent.objects.get(pk=keeper.pk)
    assert row.current_version == version(keeper, number)
    assert row.system_prompt == ("One.\nTwo.\n" if number == 1 else "One.\nThree.\n")
    assert (row.max_turns, row.max_retries, row.strong_model) == (10, 3, "")
    assert row.context_strategy == {"type": "unlimited"}
    assert [b.tool for b in row.bindings.filter(enabled=True)] == ["calculate"]
    assert row.bindings.get(tool="calculate").defaults == {"expression": "1"}
    assert not row.bindings.get(tool="current_time").enabled, "its settings are kept, switched off"
    assert [member.name for member in row.team.all()] == (["writer"] if number == 2 else [])
    assert publish_agent(row).number == number, "saving the form changes nothing"
    assert AgentVersion.objects.filter(agent=keeper).count() == 3
    run.refresh_from_db()
    assert run.version == version(keeper, 3), "runs stay where they are"
    entry = LogEntry.objects.get(user=user)
    assert entry.change_message == f"Rolled back from v3 to v{number} by anna."
    assert entry.object_id == str(keeper.pk)
    assert f"Rolled back from v3 to v{number} by anna" in caplog.text


def test_what_people_changed_since_without_publishing_is_gone_too(keeper: Agent) -> None:
    rollback_agent(keeper, 1, by=ANNA)
    Agent.objects.filter(pk=keeper.pk).update(max_run_tokens=5, uncertain_calls="retry")
    assert rollback_agent(keeper, 1, by=ANNA).version.number == 1
    row = Agent.objects.get(pk=keeper.pk)
    assert (row.max_run_tokens, row.uncertain_calls) == (None, "ask_human")


def test_a_tool_that_is_another_one_now_is_refused_unless_todays_will_do(
    keeper: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = replace(registry["calculate"], description="Something else.")
    monkeypatch.setitem(registry._specs, "calculate", changed)
    before = Agent.objects.filter(pk=keeper.pk).values().get()
    with pytest.raises(RollbackRefusedError, match="calculate is described differently now"):
        rollback_agent(keeper, 1, by=ANNA)
    assert Agent.objects.filter(pk=keeper.pk).values().get() == before, "nothing was done"
    assert [b.tool for b in keeper.bindings.filter(enabled=True)] == ["current_time"]
    done = rollback_agent(keeper, 1, by=ANNA, anyway=True)
    assert (done.version.number, done.wanted) == (4, 1)
    assert done.differs == "tool calculate: its definition"
    keeper.refresh_from_db()
    assert (keeper.system_prompt, publish_agent(keeper).number) == ("One.\nTwo.\n", 4)


def test_tools_and_members_that_are_gone_are_named(
    keeper: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    uninstall(monkeypatch, "calculate")
    Agent.objects.filter(workspace=keeper.workspace, name="writer").update(name="author")
    with pytest.raises(RollbackRefusedError) as refused:
        rollback_agent(keeper, 2, by=ANNA)
    assert str(refused.value) == (
        "Version 2 of keeper cannot be brought back as it was: the tool calculate is no longer "
        "installed and the agent writer no longer exists. Roll back anyway to get the rest of it "
        "with today's tools, team and skills, as a new version."
    )
    done = rollback_agent(keeper, 2, by=ANNA, anyway=True)
    assert done.differs == "tool calculate removed; team member writer removed"
    assert not keeper.bindings.filter(enabled=True).exists()


def test_versions_are_listed_with_their_runs_and_found_by_number(
    keeper: Agent, workspace: Workspace
) -> None:
    start_run(workspace, "x", agent="keeper")
    assert [(v.number, runs) for v, runs in versions_of(keeper)] == [(3, 1), (2, 0), (1, 0)]
    assert [v.number for v in pair(keeper)] == [2, 3]
    assert [v.number for v in pair(keeper, 1)] == [1, 3]
    assert [v.number for v in pair(keeper, None, 1)] == [1, 1], "nothing was before the first"
    with pytest.raises(VersionNotFoundError, match="no version 9; there are: 1, 2, 3"):
        rollback_agent(keeper, 9, by=ANNA)
    Agent.objects.filter(pk=keeper.pk).update(enabled=False)
    assert find_editable(workspace, "keeper") == keeper, "a stopped agent too"
    with pytest.raises(AgentNotFoundError, match="did you mean keeper"):
        find_editable(workspace, "keper")


def test_what_a_newer_heartbit_wrote_is_named_and_not_lost(keeper: Agent) -> None:
    row = version(keeper, 1)
    limits = {**row.snapshot["limits"], "max_songs": 3}
    newer = {**row.snapshot, "limits": limits, "mood": "calm"}
    number = AgentVersion.objects.create(agent=keeper, number=4, hash="n", snapshot=newer).number
    for anyway in (False, True):
        with pytest.raises(RollbackRefusedError, match="newer Heartbit") as refused:
            rollback_agent(keeper, number, by=ANNA, anyway=anyway)
        assert "max_songs" in str(refused.value)
        assert "mood" in str(refused.value)


class TestAnAgentOlderThanARule:
    """What was stored before stays editable: a rule is about what is newly given."""

    def test_its_group_was_removed(self, keeper: Agent) -> None:
        group = Group.objects.create(name=f"chiefs-{keeper.pk}")
        keeper.bindings.update(approver_group=group.name)
        publish_agent(keeper)
        group.delete()
        workspace = keeper.workspace
        changed = change_agent(workspace, "keeper", spec_of(keeper), {"description"}, by=ANNA).row
        assert rollback_agent(changed, 3, by=ANNA).version.number == 3
        [tool] = [tool for tool in spec_of(keeper).tools if tool.enabled]
        slower = tool.model_copy(update={"approval_timeout_seconds": 60})
        asked = spec_of(keeper).model_copy(update={"tools": [slower]})
        change_agent(workspace, "keeper", asked, {"tools"}, by=ANNA)
        assert keeper.bindings.get(enabled=True).approval_timeout_seconds == 60

    def test_its_defaults_look_like_a_secret(self, keeper: Agent) -> None:
        keeper.bindings.update(defaults={"token": "x"})
        changed = change_agent(
            keeper.workspace, "keeper", spec_of(keeper), {"description"}, by=ANNA
        ).row
        assert publish_agent(changed).number == 4

    def test_a_disabled_tool_is_not_installed_any_more(
        self, keeper: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uninstall(monkeypatch, "calculate")
        rollback_agent(keeper, 1, by=ANNA, anyway=True)
        gone = ToolBinding.objects.create(agent=keeper, tool="calculate", enabled=False)
        change_agent(keeper.workspace, "keeper", spec_of(keeper), {"max_turns", "tools"}, by=ANNA)
        gone.enabled = True
        gone.save()
        with pytest.raises(InvalidSettingError, match="unknown tool"):
            change_agent(keeper.workspace, "keeper", spec_of(keeper), {"tools"}, by=ANNA)
