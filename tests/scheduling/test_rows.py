"""A schedule's row as settings."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import tool
from heartbit_site.config.read import parse
from scheduling.actions.save_schedule import save_schedule, table_of
from scheduling.choices import Kind, TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.spec import ScheduleSpec
from tools.definitions.registry import marked, registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent


FILE = """
[[agents]]
name = "a"
description = "Looks up."
system_prompt = "Look up."
tools = ["look_up"]

[[schedules]]
name = "words"
agent = "a"
task_type = "tool_call"
tool = "look_up"
cron = "0 9 * * *"
arguments = { token = "bike" }
"""


@tool
def look_up(token: str) -> str:
    """Look up a word."""
    return token


def test_a_row_is_the_table_of_its_settings(planned: Callable[..., Schedule]) -> None:
    spec = ScheduleSpec.model_validate(table_of(planned(name="Hourly")))
    assert (spec.name, spec.agent, spec.every_seconds, spec.cron) == ("Hourly", "solo", 3600, None)


def test_an_agent_of_another_workspace_gets_no_schedule(
    planned: Callable[..., Schedule], agent: Callable[..., Agent]
) -> None:
    theirs = agent("theirs")
    theirs.workspace = Workspace.objects.create(slug=f"t-{secrets.token_hex(4)}", name="Elsewhere")
    theirs.save()
    with pytest.raises(ScheduleError, match="no such agent"):
        planned(agent=theirs)
    assert not Schedule.objects.filter(agent=theirs).exists()


def test_a_schedule_that_became_invalid_can_be_paused_and_nothing_else(
    planned: Callable[..., Schedule],
) -> None:
    plan = planned()
    Schedule.objects.filter(pk=plan.pk).update(task="")
    plan.refresh_from_db()
    plan.enabled = False
    save_schedule(plan, by=SYSTEM)
    plan.name = "Renamed"
    with pytest.raises(ScheduleError):
        save_schedule(plan, by=SYSTEM)
    plan.refresh_from_db()
    plan.enabled = True
    with pytest.raises(ScheduleError):
        save_schedule(plan, by=SYSTEM)
    plan.refresh_from_db()
    assert (plan.enabled, plan.name) == (False, "Report")


def test_an_argument_that_its_tool_calls_token_is_kept_and_another_secret_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, agent: Callable[..., Agent]
) -> None:
    [spec] = marked([look_up])
    monkeypatch.setitem(registry, spec.name, spec)
    searcher = agent("searcher", tools=(spec.name,))
    row = Schedule(
        workspace=workspace, agent=searcher, name="Words", kind=Kind.CRON, cron="0 9 * * *",
        task_type=TaskType.TOOL_CALL, tool=spec.name, arguments={"token": "bike"},
    )  # fmt: skip
    save_schedule(row, by=SYSTEM)
    assert Schedule.objects.get(pk=row.pk).arguments == {"token": "bike"}
    row.arguments = {"token": "bike", "api_key": "x"}
    with pytest.raises(ScheduleError, match=r"arguments\.api_key looks like a secret"):
        save_schedule(row, by=SYSTEM)
    parse(FILE)
    with pytest.raises(ConfigurationError, match=r"arguments\.api_key looks like a secret"):
        parse(FILE.replace("token =", "api_key ="))


BAD = {"tokn": "bike"}


def test_arguments_that_do_not_fit_the_tool_are_refused_when_they_are_saved(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, agent: Callable[..., Agent]
) -> None:
    [spec] = marked([look_up])
    monkeypatch.setitem(registry, spec.name, spec)
    searcher = agent("searcher", tools=(spec.name,))
    row = Schedule(
        workspace=workspace, agent=searcher, name="Words", kind=Kind.CRON, cron="0 9 * * *",
        task_type=TaskType.TOOL_CALL, tool=spec.name, arguments=BAD,
    )  # fmt: skip
    with pytest.raises(ScheduleError, match="are not valid") as refused:
        save_schedule(row, by=SYSTEM)
    assert "'token' is required and missing" in str(refused.value)
    row.arguments = {"token": 5}
    with pytest.raises(ScheduleError, match="of type string"):
        save_schedule(row, by=SYSTEM)
    searcher.bindings.update(defaults={"token": "bike"})
    row.arguments = {}
    save_schedule(row, by=SYSTEM)  # the agent's own default
    searcher.bindings.update(defaults={})
    row.cron = "0 10 * * *"
    save_schedule(row, by=SYSTEM)  # what is stored stays editable
    with pytest.raises(ConfigurationError, match=r"arguments cannot be used\. The arguments of"):
        parse(FILE.replace("token =", "tokn ="))
    has_default = '[{ name = "calculate", defaults = { expression = "1" } }]'
    own = FILE.replace('["look_up"]', has_default).replace('"look_up"', '"calculate"')
    assert parse(own.replace('{ token = "bike" }', "{}")).schedules
