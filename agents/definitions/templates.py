"""Templates for new agents: initial settings, by page, REST, command line and heartbit.toml.

Usage::

    with_template({"template": "support", "name": "front-desk"})   # all settings of the agent

An agent keeps no reference to its template.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agents.definitions.spec import AgentSpec
from tools.texts.near_names import hint


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

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of an agent that are not the defaults, as JSON has them."""
        own = set(AgentSpec.model_fields)
        return self.model_dump(mode="json", include=own, exclude_defaults=True)


_FILE = Path(__file__).with_name("templates.toml")
TEMPLATES = {
    template.name: template
    for template in map(
        AgentTemplate.model_validate, tomllib.loads(_FILE.read_text("utf-8"))["templates"]
    )
}

KEY: Final = "template"


def with_template(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a table over those of the template that it names, if it names one.

    Raises:
        ValueError: There is no such template; the end of a sentence about ``template``.
    """
    given = {key: value for key, value in table.items() if key != KEY}
    name = table.get(KEY)
    if name in (None, ""):
        return given
    template = TEMPLATES.get(name) if isinstance(name, str) else None
    if template is None:
        raise ValueError(f'names the unknown template "{name}"; {hint(str(name), TEMPLATES)}')
    settings = template.settings
    if "system_prompt_file" in given:
        del settings["system_prompt"]
    return {**settings, **given}
