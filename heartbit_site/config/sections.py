"""The sections of ``heartbit.toml`` and their keys, as pydantic models: types, limits, defaults.

The keys of an agent are the settings of ``agents.definitions.spec``. Nothing here knows Django.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from agents.definitions import validators
from agents.definitions.kinds import AGENT, RegisteredKind, defined_kinds
from agents.definitions.setting_types import Count, Description, FullText, Name, Retries
from agents.definitions.spec import AgentSpec
from heartbit_site.base.spec import Spec

Url = Annotated[str, AfterValidator(validators.storable), AfterValidator(validators.url)]


#: Arrays of ``workspace_sections``, in the order in which they are imported.
PARTS: Final = ("knowledge_bases", "webhooks", "channels", "budgets")


class RetrySection(Spec):
    """`[provider.retry]`: retries of agents without settings of their own."""

    max_retries: Retries = 3
    base_delay_ms: Count = 500
    max_delay_ms: Count = 30_000


class ProviderSection(Spec):
    """`[provider]`: the model of agents that name none."""

    name: Annotated[str, AfterValidator(validators.provider)] = ""
    model: Annotated[str, Field(max_length=150), AfterValidator(validators.one_word)] = ""
    base_url: Url = ""
    retry: RetrySection = RetrySection()


class ServerSection(Spec):
    """`[server]`: the server that `submit`, `status`, `result` and `cancel` use."""

    url: Url = ""


class TelemetrySection(Spec):
    """`[telemetry]`: settings of the processes, where the environment has none."""

    otlp_endpoint: Url = ""
    service_name: Annotated[str, Field(max_length=200), AfterValidator(validators.storable)] = ""
    json_logs: bool = False


class AgentSection(AgentSpec):
    """One of `[[agents]]`."""

    system_prompt: FullText = ""
    system_prompt_file: str | None = None


class OrchestratorSection(AgentSection):
    """`[orchestrator]`: the agent that gets the task by default."""

    name: Name = "orchestrator"
    description: Description = "Answers a question with the help of its team."


def other_kinds() -> list[RegisteredKind]:
    """Return the kinds of definitions other than agents; each has its own section."""
    return [kind for kind in defined_kinds() if kind is not AGENT]


def is_array(section: str) -> bool:
    """Return True for a section that may be written several times, with two brackets each."""
    kinds = (kind.section for kind in defined_kinds())
    return section in ("schedules", "mcp_servers", *PARTS, *kinds)
