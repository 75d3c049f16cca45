"""The keys of an agent are the columns of its row: same names, same defaults, same limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import models
from pydantic import BaseModel

from agents.definitions.spec import SETTINGS, AgentSpec, ToolGrant
from agents.models import Agent, ToolBinding
from heartbit_site.config import sections
from heartbit_site.config.build import ScheduleSection
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.read import parse
from heartbit_site.config.sections import AgentSection
from heartbit_site.config.toml_text import value
from heartbit_site.config.workspace_sections import ARRAYS, MailboxSection, MemorySection
from tools.server_spec import McpServerSpec

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/howto/heartbit-toml.md").read_text()
NOT_IN_THE_FILE = {
    *("id", "workspace", "name", "kind", "definition", "origin", "team", "current_version"),
    *("enabled_at", "created_at", "updated_at"),
}
TEXTS = ("description", "queue", "model", "strong_model")
COLUMNS: dict[str, models.Field[Any, Any]] = {
    field.name: field
    for field in Agent._meta.get_fields()
    if isinstance(field, models.Field) and field.name not in NOT_IN_THE_FILE
}
PROBES = (
    *(-1, 0, 1, 2, 2.5, 20, 21, 255, 256, 1000, 1001, 2_147_483_647, 2_147_483_648),
    *(0.0001, 0.00001, 99_999_999, 100_000_000, 2**63 - 1, 2**63),
)


def test_the_file_has_a_key_for_every_column_people_edit() -> None:
    assert set(SETTINGS) == set(COLUMNS)
    own = {field.name for field in ToolBinding._meta.get_fields()} - {"id", "agent", "tool"}
    assert set(ToolGrant.model_fields) - {"name"} == own


@pytest.mark.parametrize(
    "name", [name for name in SETTINGS if not AgentSpec.model_fields[name].is_required()]
)
def test_a_settings_default_is_the_columns(name: str) -> None:
    assert COLUMNS[name].get_default() == AgentSpec.default_of(name)


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, column in COLUMNS.items()
        if isinstance(
            column,
            models.PositiveIntegerField
            | models.PositiveBigIntegerField
            | models.FloatField
            | models.DecimalField,
        )
    ),
)
@pytest.mark.parametrize("number", PROBES)
def test_a_number_is_accepted_in_the_file_exactly_if_the_admin_accepts_it(
    name: str, number: float
) -> None:
    column = COLUMNS[name]
    whole = isinstance(column, models.PositiveIntegerField | models.PositiveBigIntegerField)
    if isinstance(number, float) and whole:  # a form rounds, the file is strict
        assert not _is_accepted(f"{name} = {number}")
        return
    try:
        column.clean(str(number), None)  # as a form sends it
        accepted = True
    except ValidationError:
        accepted = False
    assert _is_accepted(f"{name} = {number}") is accepted


@pytest.mark.parametrize("name", sorted(name for name, column in COLUMNS.items() if column.choices))
def test_a_choice_is_one_of_the_columns(name: str) -> None:
    choices = COLUMNS[name].choices
    assert choices is not None
    values = [str(choice[0]) for choice in choices]
    assert all(_is_accepted(f"{name} = {value(choice)}") for choice in values)
    assert not _is_accepted(f'{name} = "{values[0]}x"')


def test_a_text_is_as_long_as_its_column_allows() -> None:
    for name, column in COLUMNS.items():
        if isinstance(column, models.CharField) and name in TEXTS:
            longest = column.max_length or 0
            start = "openai:" if name.endswith("model") else ""
            text = start + "d" * (longest - len(start))
            assert _is_accepted(f'{name} = "{text}"'), name
            assert not _is_accepted(f'{name} = "{text}d"'), name


def test_at_most_four_stop_texts_are_accepted() -> None:
    assert _is_accepted(f"stop = {value(['x'] * 4)}")
    assert not _is_accepted(f"stop = {value(['x'] * 5)}")


# ------------------------------------------------------------------------------- the document


def test_the_document_lists_every_key_with_its_default() -> None:
    listed: dict[str, str] = dict(
        re.findall(r"^\| `([a-z_.]+)` \|[^|\n]+\|([^|\n]*)\|[^|\n]+\|$", DOCUMENT, re.MULTILINE)
    )
    described: tuple[tuple[type[BaseModel], str], ...] = (
        (sections.ProviderSection, "provider."),
        (sections.RetrySection, "provider.retry."),
        (sections.ServerSection, "server."),
        (sections.TelemetrySection, "telemetry."),
        (AgentSection, ""),
        (ToolGrant, "tools."),
        (ScheduleSection, "schedules."),
        (McpServerSpec, "mcp_servers."),
        (MemorySection, "memory."),
        (MailboxSection, "channels.mailbox."),
        *((section, f"{name}.") for name, section in ARRAYS.items()),
    )
    for section, prefix in described:
        for name, field in section.model_fields.items():
            if prefix + name in ("provider.retry", "channels.mailbox"):
                continue
            shown = listed.pop(prefix + name).strip().strip("`")
            default = field.get_default(call_default_factory=True)
            if field.is_required():
                assert shown == "required"
            elif default not in (None, "", [], {}):
                assert shown == value(default), name
    assert not listed, "the document names keys that do not exist"


def test_the_example_is_in_order_and_shown_in_the_document() -> None:
    example = (ROOT / "heartbit_site/config/example.toml").read_text()
    assert parse(example).entry == "orchestrator"
    assert example in DOCUMENT


def _is_accepted(line: str) -> bool:
    key = line.partition(" ")[0]
    plain = {
        "name": '"a"',
        "description": '""',
        "system_prompt": '"p"',
        "tools": '["run_code"]',  # which execution_mode needs
    }
    pairs = [f"{name} = {text}" for name, text in plain.items() if name != key]
    try:
        parse("\n".join(["[[agents]]", *pairs, line]))
    except ConfigFileError:
        return False
    return True
