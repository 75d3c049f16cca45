"""Types of settings: names, references, JSON and amounts, each with its bounds. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from agents.definitions import validators
from heartbit_site.base.review_policy import MOST_CHARACTERS, read_reviewers
from heartbit_site.base.view import dollars

Name = Annotated[str, Field(max_length=64), AfterValidator(validators.agent_name)]
SkillName = Annotated[str, Field(max_length=64), AfterValidator(validators.skill_name)]
BaseName = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(validators.storable)]
ToolName = Annotated[str, Field(min_length=1, max_length=64)]
FullText = Annotated[str, Field(min_length=1), AfterValidator(validators.storable)]
Description = Annotated[str, Field(max_length=300), AfterValidator(validators.storable)]
Reference = Annotated[
    str,
    Field(max_length=200),
    AfterValidator(validators.storable),
    AfterValidator(validators.reference),
]
FullReference = Annotated[
    str,
    Field(min_length=1, max_length=200),
    AfterValidator(validators.storable),
    AfterValidator(validators.reference),
]
Group = Annotated[str, Field(max_length=150), AfterValidator(validators.storable)]
Reviewers = Annotated[
    str,
    Field(max_length=MOST_CHARACTERS),
    AfterValidator(validators.storable),
    AfterValidator(read_reviewers),
]
Queue = Annotated[str, Field(max_length=64), AfterValidator(validators.queue)]
_JSON_TABLE = BeforeValidator(validators.json_table, json_schema_input_type=dict[str, Any] | str)
Schema = Annotated[dict[str, Any], _JSON_TABLE, AfterValidator(validators.usable_schema)]
ResponseSchema = Annotated[Schema, AfterValidator(validators.response_schema)]
Strategy = Annotated[
    dict[str, Any], AfterValidator(validators.storable_json), AfterValidator(validators.strategy)
]
MemoryWeights = Annotated[dict[str, float], _JSON_TABLE, AfterValidator(validators.memory_weights)]
Arguments = Annotated[dict[str, Any], _JSON_TABLE]
CredentialNames = Annotated[dict[str, str], _JSON_TABLE]
#: US dollars; in JSON a decimal number as text.
Money = Annotated[
    Decimal,
    BeforeValidator(validators.money),
    PlainSerializer(dollars, return_type=str, when_used="json"),
]
Positive = Annotated[int, Field(ge=1, le=2_147_483_647)]
Count = Annotated[int, Field(ge=0, le=2_147_483_647)]
Retries = Annotated[int, Field(ge=0, le=20)]
