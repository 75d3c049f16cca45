"""What requests about agents hold: the keys of an ``[[agents]]`` table of ``heartbit.toml``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from agents.definitions import rules
from agents.definitions.spec import AgentSpec, Description, FullText, Name
from heartbit_site.contract.model import without_defaults

_AMOUNT = re.compile(r"\d{1,8}(\.\d{1,4})?", re.ASCII)


def _written_out(value: Any) -> Any:
    """Money as the API's answers have it."""
    return Decimal(value) if isinstance(value, str) and _AMOUNT.fullmatch(value) else value


def _refused(value: Any) -> Any:
    raise ValueError("a request has no files: send the text itself as system_prompt")


Money = Annotated[Decimal, BeforeValidator(rules.money), BeforeValidator(_written_out)]
NoFile = SkipJsonSchema[Annotated[None, BeforeValidator(_refused)]]


class AgentIn(AgentSpec):
    """An agent, with the keys of an `[[agents]]` table of heartbit.toml."""

    system_prompt_file: NoFile = None
    max_run_cost_usd: Money | None = Field(
        None, description="A number, or a decimal string as answers have it."
    )
    team: list[Name] = Field(
        default_factory=list, description="Names of agents of the workspace that it delegates to."
    )


class AgentChangeIn(AgentIn):
    """What is to be different of an agent; what is left out stays.

    `tools` and `team` are given whole: what they do not name goes.
    """

    model_config = ConfigDict(json_schema_extra=without_defaults)

    name: Name = Field("", description="Its own: an agent keeps its name.")
    description: Description = ""
    system_prompt: FullText = ""
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None,
        description="The agent's version that you know: 409 if another one is current by now.",
    )
