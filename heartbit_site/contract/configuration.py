"""The configuration file of the workspace: its agents and other definitions as TOML."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heartbit_site.base.view import View
from heartbit_site.contract.model import Body
from heartbit_site.contract.operation import READ_AGENTS, Needs, Noun

Toml = Annotated[str, Field(max_length=1_000_000)]
#: Of ``heartbit_site.config.apply.SCOPES``, which the import itself checks whole.
IMPORT = Needs(("workspace:manage", "agents:write"))


class ConfigurationOut(View):
    """A configuration file."""

    toml: str = Field(description="The text of a heartbit.toml.")


class ConfigurationIn(Body):
    """A configuration file to import."""

    toml: Toml = Field(description="The text of a heartbit.toml.")
    prompts: dict[str, Toml] = Field(
        default_factory=dict,
        description="Texts of its `system_prompt_file`s, by the name that it gives them.",
    )
    prune: bool = Field(
        default=False,
        description="Agents, schedules, MCP servers, webhooks and channels that the file does not "
        "name are stopped, paused and disabled.",
    )
    dry_run: bool = Field(default=False, description="Nothing is changed.")


class ScheduleChangesOut(View):
    """Changes of schedules, by name."""

    created: list[str]
    updated: list[str]
    fields: dict[str, list[str]] = Field(description="Changed settings of the updated ones.")
    unchanged: list[str]
    over: list[str] = Field(description="One-time schedules in the past, which were not created.")
    paused: list[str]


class McpServerChangesOut(View):
    """Changes of MCP servers, by name."""

    created: list[str]
    updated: list[str]
    unchanged: list[str]
    disabled: list[str]


class PartChangesOut(McpServerChangesOut):
    """Changes of a section, by the names of its entries."""

    fields: dict[str, list[str]] = Field(description="Changed settings of the updated ones.")


class ChangesOut(View):
    """Changes of an import, by the agents' names."""

    created: list[str]
    updated: list[str]
    republished: list[str] = Field(description="Agents whose tools or skills changed.")
    unchanged: list[str]
    fields: dict[str, list[str]] = Field(description="Changed settings of the updated ones.")
    disabled: list[str]
    schedules: ScheduleChangesOut
    mcp_servers: McpServerChangesOut
    parts: dict[str, PartChangesOut] = Field(
        description="Changes of knowledge bases, webhooks, channels and budgets, by their section."
    )
    memory: list[str] = Field(description="Settings of memories that changed.")
    default_model: str = Field(description="The new default model; empty: unchanged.")
    losses: list[str] = Field(description="Settings that it removes, as the file leaves them out.")
    notes: list[str] = Field(description="Sentences on parts that it could not apply.")


NOUN = Noun("configuration", read=READ_AGENTS, write=IMPORT)

EXPORT_CONFIGURATION = NOUN.get(
    "export_configuration", "/configuration", ConfigurationOut, "Export a configuration file"
)
IMPORT_CONFIGURATION = NOUN.post(
    "import_configuration", "/configuration", ChangesOut, "Import a configuration file",
    body=ConfigurationIn, errors=(409,),
)  # fmt: skip
