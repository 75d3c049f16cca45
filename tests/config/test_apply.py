from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from agents.actions.publish_agent import publish_agent
from agents.actions.write_agents import create_default_team
from agents.definitions.definition import BLACKBOARD
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent, AgentVersion, ToolBinding
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config.apply import Changes, ephemeral_agent, import_config
from heartbit_site.config.read import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace
    from heartbit_site.config.build import Configuration

TEAM = """
[provider]
name = "openai"
model = "x"

[orchestrator]
max_turns = 4

[[agents]]
name = "reader"
description = "Reads."
system_prompt = "You read."
model = "anthropic:y"
tools = ["http_get", { name = "calculate", approval = "always", defaults = { n = 1 } }]

[[agents]]
name = "writer"
description = "Writes."
system_prompt = "You write."
stop = ["END"]
"""


@pytest.fixture
def configuration() -> Configuration:
    return parse(TEAM)


def row(workspace: Workspace, name: str, origin: str = "") -> Agent:
    return Agent.objects.get(workspace=workspace, name=name, origin=origin)


def snapshot(agent: Agent) -> dict[str, Any]:
    assert agent.current_version is not None
    content: dict[str, Any] = agent.current_version.snapshot
    return content


# ------------------------------------------------------------------------------------------ import


def test_given_an_empty_workspace_then_agents_tools_team_and_model_are_made_and_published(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    changes = import_config(workspace, configuration)
    assert changes == Changes(
        created=("orchestrator", "reader", "writer"), default_model="openai:x"
    )
    workspace.refresh_from_db()
    assert workspace.default_model == "openai:x"
    lead, reader, writer = (row(workspace, name) for name in changes.created)
    assert [member["name"] for member in snapshot(lead)["team"]] == ["reader", "writer"]
    assert snapshot(lead)["limits"]["max_turns"] == 4
    assert snapshot(reader)["model"] == "anthropic:y"
    assert snapshot(writer)["stop"] == ["END"]
    own = reader.bindings.exclude(tool__in=BLACKBOARD)
    assert list(own.values_list("tool", "approval", "defaults")) == [
        ("calculate", "always", {"n": 1}),
        ("http_get", "", {}),
    ]


def test_given_the_same_file_again_then_nothing_changes(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    import_config(workspace, configuration)
    before = list(Agent.objects.filter(workspace=workspace).values())
    changes = import_config(workspace, configuration)
    assert changes == Changes(unchanged=("orchestrator", "reader", "writer"))
    assert list(Agent.objects.filter(workspace=workspace).values()) == before
    assert AgentVersion.objects.filter(agent__workspace=workspace).count() == 3


@pytest.mark.parametrize(
    ("old", "new", "updated"),
    [
        ('"You read."', '"You read a lot."', ("reader",)),
        ("max_turns = 4", "max_turns = 5", ("orchestrator", "reader", "writer")),
        ("max_turns = 4", 'max_turns = 4\nteam = ["writer"]', ("orchestrator",)),
        ('"http_get", ', "", ("reader",)),
        ('"http_get"', '"current_time"', ("reader",)),
        ("{ n = 1 }", "{ n = true }", ("reader",)),
        ('approval = "always", ', "", ("reader",)),
        ('stop = ["END"]', "", ("writer",)),
    ],
)
def test_given_one_change_then_that_agent_is_updated_and_published(
    empty: Callable[[], Workspace],
    configuration: Configuration,
    old: str,
    new: str,
    updated: tuple[str, ...],
) -> None:
    workspace = empty()
    import_config(workspace, configuration)
    versions = {name: row(workspace, name).current_version_id for name in updated}
    assert old in TEAM
    changes = import_config(workspace, parse(TEAM.replace(old, new)))
    assert changes.updated == updated
    for name in updated:
        assert row(workspace, name).current_version_id != versions[name]


def test_given_agents_the_file_does_not_name_then_pruning_stops_them_and_nothing_else_does(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    create_default_team(workspace)
    assert import_config(workspace, configuration).disabled == ()
    assert row(workspace, "analyst").enabled
    assert import_config(workspace, configuration, prune=True).disabled == ("analyst", "researcher")
    assert not row(workspace, "analyst").enabled
    assert import_config(workspace, configuration, prune=True).disabled == ()


def test_given_a_stopped_agent_that_the_file_names_then_it_is_started_again(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    import_config(workspace, configuration)
    import_config(
        workspace, parse('[[agents]]\nname="x"\ndescription=""\nsystem_prompt="p"'), prune=True
    )
    stopped = row(workspace, "reader")
    assert not stopped.enabled
    assert "reader" in import_config(workspace, configuration).updated
    started = row(workspace, "reader")
    assert started.enabled
    assert started.enabled_at > stopped.enabled_at


def test_given_a_leader_of_another_team_then_it_is_told_what_its_member_is_now(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    import_config(workspace, configuration)
    boss = Agent.objects.create(workspace=workspace, name="boss", system_prompt="b")
    boss.team.set([row(workspace, "reader")])
    publish_agent(boss)
    import_config(workspace, parse(TEAM.replace('"Reads."', '"Reads fast."')))
    assert snapshot(row(workspace, "boss"))["team"][0]["description"] == "Reads fast."


def test_given_a_leader_that_cannot_be_published_then_the_import_holds_and_says_so(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    import_config(workspace, configuration)
    boss = Agent.objects.create(workspace=workspace, name="boss", system_prompt="b")
    boss.team.set([row(workspace, "reader")])
    ToolBinding.objects.create(agent=boss, tool="gone")
    [note] = import_config(workspace, configuration).notes
    assert note.startswith("boss was not republished: ")


def test_given_an_agent_that_cannot_be_published_then_nothing_has_changed(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    last = configuration.agents[-1]
    broken = last.model_copy(update={"stop": ["1", "2", "3", "4", "5"]})
    agents = (*configuration.agents[:-1], broken)
    with pytest.raises(ConfigurationError, match="stop"):
        import_config(
            workspace, type(configuration)(agents=agents, default_model="openai:z", entry="x")
        )
    assert not Agent.objects.filter(workspace=workspace).exists()
    workspace.refresh_from_db()
    assert workspace.default_model == ""


def test_given_a_file_that_leaves_things_out_then_the_import_says_what_it_removes(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    create_default_team(workspace)
    ToolBinding.objects.filter(agent__workspace=workspace, agent__name="analyst").filter(
        tool="calculate"
    ).update(approval="always")
    Agent.objects.filter(workspace=workspace, name="orchestrator").update(system_prompt="Mine.")
    file = parse(
        '[[agents]]\nname = "analyst"\ndescription = ""\nsystem_prompt = "a"\n'
        'tools = ["calculate"]\n[[agents]]\nname = "new"\ndescription = ""\n'
        'system_prompt = "n"\n'
    )
    changes = import_config(workspace, file, dry_run=True)
    assert changes.losses == (
        "orchestrator: system_prompt reset to its default, delegation_timeout_seconds reset to its "
        "default, team without researcher and writer",
        "analyst: tools without blackboard_list and blackboard_read and blackboard_write and "
        "current_time, calculate.approval reset to its default",
    )
    assert changes.fields["orchestrator"] == (
        *("system_prompt", "delegation_timeout_seconds", "team"),
    )
    assert row(workspace, "orchestrator").system_prompt == "Mine."
    assert not Agent.objects.filter(workspace=workspace, name="new").exists()
    assert import_config(workspace, file) == changes
    assert row(workspace, "orchestrator").system_prompt != "Mine."
    assert import_config(workspace, file).losses == ()


def test_given_a_schedule_with_fewer_recipients_then_the_import_names_those_that_go(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    schedule = '[[schedules]]\nname = "s"\nagent = "reader"\ntask = "t"\nevery_seconds = 3600\n'
    mails = 'deliver = [{ kind = "email", to = ["a@example.org"] }]\n'
    whole = parse(f"{TEAM}{schedule}jitter_seconds = 9\n{mails}")
    import_config(workspace, whole)
    assert import_config(workspace, whole).losses == ()
    [sentence] = import_config(workspace, parse(f"{TEAM}{schedule}")).losses
    assert sentence.startswith("schedule s: jitter_seconds reset to its default, deliver without {")
    assert "a@example.org" in sentence


@pytest.mark.parametrize("setting", ["approver_group", "escalation_group"])
def test_given_a_group_that_does_not_exist_then_neither_import_nor_run_takes_it(
    empty: Callable[[], Workspace], setting: str
) -> None:
    workspace = empty()
    tool = f'tools = [{{ name = "http_get", escalate_after_minutes = 5, {setting} = "typo" }}]'
    configuration = parse(TEAM.replace('stop = ["END"]', tool))
    for accept in (import_config, ephemeral_agent):
        with pytest.raises(InvalidSettingError) as refused:
            accept(workspace, configuration)
        assert refused.value.path == ("tools", 0, setting)
        assert "http_get" in str(refused.value)
        assert not Agent.objects.filter(workspace=workspace).exists()


def test_given_a_base_url_then_the_import_says_that_it_is_not_stored(
    empty: Callable[[], Workspace],
) -> None:
    text = '[provider]\nname = "ollama"\nbase_url = "http://127.0.0.1:1/v1"'
    assert parse(text).base_urls == {"ollama": "http://127.0.0.1:1/v1"}
    [note] = import_config(empty(), parse(text)).notes
    assert note.startswith("provider.base_url applies only to `heartbit run --config`")


# --------------------------------------------------------------------------------------- ephemeral


def test_given_a_file_for_one_run_then_its_agents_stand_beside_those_of_the_admin(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    create_default_team(workspace)
    shown = list(Agent.objects.filter(workspace=workspace).values())
    entry = ephemeral_agent(workspace, configuration, environ={})
    assert (entry.name, len(entry.origin)) == ("orchestrator", 16)
    assert {member.origin for member in entry.team.all()} == {entry.origin}
    assert list(Agent.objects.filter(workspace=workspace, origin="").values()) == shown
    workspace.refresh_from_db()
    assert workspace.default_model == ""


def test_given_the_same_content_then_the_same_rows_are_used(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    first = ephemeral_agent(workspace, configuration, environ={})
    again = ephemeral_agent(workspace, parse("# another comment\n" + TEAM), environ={})
    assert (again.pk, again.current_version_id) == (first.pk, first.current_version_id)
    other = ephemeral_agent(workspace, parse(TEAM + "max_turns = 2\n"), environ={})
    assert other.origin != first.origin
    assert Agent.objects.filter(workspace=workspace).count() == 6


def test_the_files_model_is_for_agents_without_one_unless_the_environment_chooses(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()
    entry = ephemeral_agent(workspace, configuration, environ={"OPENAI_API_KEY": "k"})
    assert snapshot(entry)["model"] == "openai:x"
    assert snapshot(row(workspace, "reader", entry.origin))["model"] == "anthropic:y"
    chosen = ephemeral_agent(workspace, configuration, environ={"HEARTBIT_MODEL": "z"})
    assert snapshot(chosen)["model"] == ""
    assert snapshot(row(workspace, "reader", chosen.origin))["model"] == "anthropic:y"


def test_given_a_file_without_agents_then_the_default_team_answers_with_its_model(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    entry = ephemeral_agent(workspace, parse('[provider]\nname = "openai"'), environ={})
    assert entry.name == "orchestrator"
    assert [member.name for member in entry.team.all()] == ["analyst", "researcher", "writer"]
    assert {member.model for member in entry.team.all()} == {"openai:gpt-6-sol"}
    seeded = create_default_team(workspace)
    assert seeded is None or snapshot(seeded)["system_prompt"] == snapshot(entry)["system_prompt"]


def test_given_two_processes_at_once_then_the_rows_are_made_once(
    empty: Callable[[], Workspace], configuration: Configuration
) -> None:
    workspace = empty()

    def make() -> int:
        try:
            return ephemeral_agent(workspace, configuration, environ={}).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        made = [future.result() for future in [pool.submit(make) for _ in range(4)]]
    assert len(set(made)) == 1
    assert Agent.objects.filter(workspace=workspace).count() == 3
