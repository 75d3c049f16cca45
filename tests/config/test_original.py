"""A file of the Rust original: used as it is, but for what is written otherwise or not built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.actions.create_default_team import BLACKBOARD
from agents.models import Agent
from heartbit_site.config.apply import import_config
from heartbit_site.config.build import INHERITED
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.config.sections import REPLACED

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace
    from tests.command import Command

SAMPLE = Path(__file__).with_name("original.toml").read_text()
#: Path in the sample of everything that is refused: written otherwise here, or not built yet.
REFUSED = ("agents.researcher.mcp_servers", "memory", "telemetry")


def without_what_is_refused() -> str:
    """The sample with the refused lines and sections taken out."""
    parts = SAMPLE.split("\n\n")
    kept = [part for part in parts if not part.startswith(("[memory]", "[telemetry]"))]
    lines = "\n\n".join(kept).splitlines()
    return "\n".join(line for line in lines if not line.startswith("mcp_servers"))


def test_the_sample_is_refused_for_these_and_nothing_else() -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(SAMPLE)
    messages = [problem.message for problem in refused.value.problems]
    assert [message.split(" ")[0] for message in messages] == list(REFUSED)
    for message, path in zip(messages, REFUSED, strict=True):
        assert message.count(path.split(".")[-1]) >= 2, "it names what it is about"


def test_the_rest_of_it_imports(empty: Callable[[], Workspace]) -> None:
    workspace = empty()
    changes = import_config(workspace, parse(without_what_is_refused()))
    assert changes.created == ("orchestrator", "researcher", "coder", "judge")
    assert changes.notes == (REPLACED["restate"],)
    assert workspace.default_model == "anthropic:claude-sonnet-4-20250514"
    limits = {
        row.name: (row.max_turns, row.max_tokens)
        for row in Agent.objects.filter(workspace=workspace)
    }
    assert limits == {
        "orchestrator": (20, 8192),
        "researcher": (20, 8192),
        "coder": (5, 8192),
        "judge": (20, 1024),
    }
    again = import_config(empty(), parse(export(workspace)))
    assert again.created == ("orchestrator", "coder", "judge", "researcher")
    assert import_config(workspace, parse(export(workspace))).updated == ()


@pytest.mark.parametrize("value", ["{}", "5", '[{ endpoint = "x" }]'])
def test_restate_is_answered_with_what_replaced_it(value: str) -> None:
    assert parse(f"restate = {value}\n").notes == (REPLACED["restate"],)
    assert parse("").notes == ()


def test_check_and_import_say_what_replaced_a_section(heartbit: Command, tmp_path: Path) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text("[restate]\n")
    checked = heartbit("config", "check", str(file))
    assert (checked.code, checked.err) == (0, f"{REPLACED['restate']}\n")
    as_json = heartbit("config", "check", str(file), "--json")
    assert as_json.json["notes"] == [REPLACED["restate"]]
    imported = heartbit("config", "import", str(file))
    assert (imported.code, imported.err) == (0, f"{REPLACED['restate']}\n")


TWO = """
[orchestrator]
max_turns = 7
[[agents]]
name = "a"
description = "d"
system_prompt = "p"
tools = ["calculate", { name = "blackboard_write", enabled = false }]
[[agents]]
name = "b"
description = "d"
system_prompt = "p"
"""


def test_members_of_a_team_get_the_blackboard_unless_the_file_says_otherwise() -> None:
    orchestrator, a, b = parse(TWO).agents
    assert orchestrator.tools == []
    assert [tool.name for tool in a.tools] == ["blackboard_list", "blackboard_read", "calculate"]
    assert tuple(tool.name for tool in b.tools) == BLACKBOARD
    alone = '[[agents]]\nname = "a"\ndescription = "d"\nsystem_prompt = "p"\n'
    assert parse(alone).agents[0].tools == []


def test_a_member_without_the_blackboard_is_exported_as_one(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(TWO))
    Agent.objects.get(workspace=workspace, name="b").bindings.all().delete()
    copy = empty()
    import_config(copy, parse(export(workspace)))
    assert not Agent.objects.get(workspace=copy, name="b").bindings.filter(enabled=True).exists()
    assert export(copy) == export(workspace)


def test_limits_that_agents_take_from_the_orchestrator_come_back_from_an_export(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(TWO))
    agents = Agent.objects.filter(workspace=workspace)
    agents.filter(name="b").update(max_turns=10)  # the usual default, said against seven
    copy = empty()
    import_config(copy, parse(export(workspace)))
    for agent in agents:
        same = Agent.objects.get(workspace=copy, name=agent.name)
        assert [getattr(same, name) for name in INHERITED] == [
            getattr(agent, name) for name in INHERITED
        ], agent.name
