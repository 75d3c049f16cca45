"""Templates for new agents: initial values of the form that adds an agent.

An agent keeps no reference to its template.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from agents.definitions.spec import AgentSpec


class AgentTemplate(AgentSpec):
    """Initial settings of a new agent; its name is also that of the template.

    Attributes:
        title: Title shown in the list of templates.
        icon: A name of Material Symbols.
        note: Advice on what to set before using the agent; empty: none.
    """

    title: str
    icon: str
    note: str = ""


_FILE = Path(__file__).with_name("templates.toml")
TEMPLATES = {
    template.name: template
    for template in map(
        AgentTemplate.model_validate, tomllib.loads(_FILE.read_text("utf-8"))["templates"]
    )
}
