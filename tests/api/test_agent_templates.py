"""Agents that begin with a template, by REST, command line and heartbit.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.skills import record_shipped_skills
from agents.definitions.templates import TEMPLATES
from heartbit_site.base.access import Access
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.read import parse
from heartbit_site.contract.agents import AgentChangeIn, AgentIn
from heartbit_site.operations import agents as operations

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_a_whole_agent_with_settings_of_ones_own(
    workspace: Workspace, name: str
) -> None:
    record_shipped_skills()
    access = Access(workspace, "ada", "api", frozenset({"agents:read", "agents:write"}), None)
    body = AgentIn.model_validate({"name": f"my-{name}", "template": name, "max_turns": 3})
    made = operations.create_agent(access, body).view
    assert made.definition["max_turns"] == 3
    assert made.definition["memory"] is True
    assert "template" not in made.definition
    listed = {one.name: one for one in operations.list_agent_templates(access).templates}
    granted: Any = listed[name].definition["tools"]
    assert made.tools == sorted(tool["name"] for tool in granted)
    changes = import_config(
        workspace, parse(f'[[agents]]\nname = "my-{name}"\ntemplate = "{name}"\nmax_turns = 3\n')
    )
    assert changes.unchanged == (f"my-{name}",)


def test_an_unknown_template_is_told_and_a_change_takes_none() -> None:
    with pytest.raises(ValueError, match=r'unknown template "suport"; did you mean support\?'):
        AgentIn.model_validate({"name": "x", "template": "suport"})
    with pytest.raises(ValueError, match="Extra inputs"):
        AgentChangeIn.model_validate({"template": "support"})
    with pytest.raises(ConfigFileError) as refused:
        parse('[[agents]]\nname = "a"\ntemplate = "suport"\n')
    assert 'template names the unknown template "suport"' in refused.value.lines[-1]
