"""`[[schedules]]` of a file: what they say, what is wrong with them, import, export and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agents.actions.publish_agent import publish_agent
from agents.actions.write_agents import create_default_team
from agents.delivery.targets import EmailTarget
from agents.models import Agent, ToolBinding
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import AuditEntry
from heartbit_site.config.apply import ScheduleChanges, ephemeral_agent, import_config
from heartbit_site.config.build import ScheduleSection
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.config.toml_text import value
from scheduling.actions.save_schedule import save_schedule
from scheduling.actions.schedules import change_schedule
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.spec import SETTINGS, ScheduleSpec
from tests.config.test_export import NAMES, PROMPTS, STORABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace

DEFAULTS = {name: ScheduleSpec.default_of(name) for name in SETTINGS}
A = '[[agents]]\nname = "a"\ndescription = "d"\nsystem_prompt = "p"\ntools = ["calculate"]\n'
S = '[[schedules]]\nname = "s s"\nagent = "a"\ntask = "t"\n'
CRON = 'cron = "0 9 * * MON"\n'
FILE = A + S + CRON
LATER = datetime(2100, 1, 1, 9, tzinfo=UTC)


def problems(text: str) -> list[str]:
    """The lines of the error that reading a text gives."""
    with pytest.raises(ConfigFileError) as caught:
        parse(text)
    return caught.value.lines


def row(workspace: Workspace, name: str = "s s") -> Schedule:
    return Schedule.objects.select_related("agent", "workspace").get(workspace=workspace, name=name)


# -------------------------------------------------------------------------------------------- read


def test_given_a_complete_table_then_every_value_arrives() -> None:
    [schedule] = parse(
        A
        + """
        [[schedules]]
        name = " Every morning "
        agent = "a"
        task_type = "tool_call"
        tool = "calculate"
        arguments = { expression = "1+1" }
        every_seconds = 3600
        time_zone = "Europe/Berlin"
        begins_at = 2026-12-01T09:00:00.5+01:00
        ends_at = 2027-12-01T09:00:00Z
        catch_up = "all"
        overlap = "queue"
        jitter_seconds = 30
        require_approval = true
        deliver = [
          { kind = "email", to = ["ann@example.org"], attach = false },
          { kind = "webhook", endpoint = 3 },
        ]
        enabled = false
        """
    ).schedules
    berlin = timezone(timedelta(hours=1))
    assert schedule.model_dump() == {
        **DEFAULTS,
        "name": "Every morning",
        "agent": "a",
        "task_type": "tool_call",
        "tool": "calculate",
        "arguments": {"expression": "1+1"},
        "every_seconds": 3600,
        "time_zone": "Europe/Berlin",
        "begins_at": datetime(2026, 12, 1, 9, tzinfo=berlin),
        "ends_at": datetime(2027, 12, 1, 9, tzinfo=UTC),
        "catch_up": "all",
        "overlap": "queue",
        "jitter_seconds": 30,
        "require_approval": True,
        "deliver": [
            EmailTarget(to=["ann@example.org"], attach=False).model_dump(),
            {"kind": "webhook", "endpoint": 3},
        ],
        "enabled": False,
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("schedules = 1", "1:1: schedules must be an array"),
        ("[schedules]", "1:2: schedules must be an array"),
        ("[[schedule]]", "1:3: schedule is not a section; did you mean schedules?"),
        (FILE + "timezone = 1", '11:1: schedules."s s".timezone is not a setting; did you mean ti'),
        (FILE + "kind = 1", '11:1: schedules."s s".kind is not a setting; there are: name, agent'),
        (A + S, '6:3: schedules."s s" needs one of cron, every_seconds and at.'),
        (FILE + "every_seconds = 60", '11:1: schedules."s s".every_seconds is given with cron: '),
        (
            A + S + "every_seconds = 9",
            '10:1: schedules."s s".every_seconds must be at least 10, no',
        ),
        (
            A + S + 'cron = "0 9 * *"',
            "10:1: schedules.\"s s\".cron cannot be used: the cron expression '0 9 * *' has 4 fi",
        ),
        (
            A + S + 'cron = "0 0 31 2 *"',
            '10:1: schedules."s s".cron cannot be used: the cron expre',
        ),
        (
            FILE + 'time_zone = "Berlin"',
            "11:1: schedules.\"s s\".time_zone cannot be used: there is no time zone 'Berlin'",
        ),
        (A + S + "at = 2026-12-01T09:00:00", '10:1: schedules."s s".at must have an offset from U'),
        (A + S + "at = 2026-12-01", '10:1: schedules."s s".at must be a date and time with an off'),
        (
            A + S + 'at = "soon"',
            '10:1: schedules."s s".at must be a date and time with an offset, ',
        ),
        (A + S + "at = 1999-01-01T00:00:00Z", '10:1: schedules."s s".at must be between the years'),
        (
            FILE + "begins_at = 2027-01-01T00:00:00Z\nends_at = 2027-01-01T01:00:00+01:00",
            '12:1: schedules."s s".ends_at is not after begins_at.',
        ),
        (FILE.replace('task = "t"', ""), '6:3: schedules."s s".task is missing: say what the age'),
        (FILE + 'tool = "calculate"', '11:1: schedules."s s".tool is only accepted with task_t'),
        (FILE + 'task_type = "tool_call"', '6:3: schedules."s s".tool is missing, which task_type'),
        (
            FILE + 'task_type = "tool_call"\ntool = "http_get"',
            '12:1: schedules."s s".tool names "http_get", which the agent a does not have.',
        ),
        (
            FILE + 'task_type = "tool_call"\ntool = "calculte"',
            '12:1: schedules."s s".tool names the unknown tool "calculte"; did you mean calculate?',
        ),
        (FILE + "arguments = { token = 1 }", '11:15: schedules."s s".arguments.token looks like a'),
        (FILE.replace('agent = "a"', 'agent = "b"'), '8:1: schedules."s s".agent names "b", not a'),
        (FILE.replace('agent = "a"\n', ""), '6:3: schedules."s s".agent is missing.'),
        (FILE.replace('"s s"', '"17"'), "7:1: schedules[1].name must not be only a number."),
        (FILE.replace('"s s"', '" "'), "7:1: schedules[1].name must not be empty."),
        (FILE + S + CRON, '12:1: schedules[2].name is "s s", which is already the name of anoth'),
        (
            FILE + 'catch_up = "skip"',
            '11:1: schedules."s s".catch_up must be "none", "latest" or "all", ',
        ),
        (FILE + "jitter_seconds = 3601", '11:1: schedules."s s".jitter_seconds must be at most 3'),
        (FILE + "deliver = [{}]", '11:12: schedules."s s".deliver[1] needs its kind: "email", "w'),
        (FILE + "deliver = [1]", '11:12: schedules."s s".deliver[1] must be a table, not 1.'),
        (
            FILE + 'deliver = [{ kind = "fax" }]',
            '11:12: schedules."s s".deliver[1] must be of the kind "email", "webhook", "artifact", '
            '"drive", not "fax".',
        ),
        (
            FILE + 'deliver = [{ kind = "email", to = ["a@b.example", "ann"] }]',
            '11:51: schedules."s s".deliver[1].to[2] is not an e-mail address: write it like',
        ),
        (
            FILE + 'deliver = [{ kind = "email", to = ["a@b.example"], sbject = "x" }]',
            '11:52: schedules."s s".deliver[1].sbject is not a setting; did you mean subject?',
        ),
        (
            FILE + 'deliver = [{ kind = "webhook", to = [] }]',
            '11:12: schedules."s s".deliver[1].endpoint is missing.',
        ),
        (
            FILE + 'deliver = [{ kind = "artifact", name = "A b" }]',
            '11:33: schedules."s s".deliver[1].name takes up to 64 lower-case ',
        ),
    ],
)
def test_given_a_mistake_then_one_line_says_where_and_what(text: str, line: str) -> None:
    found = problems(text)
    assert any(f"heartbit.toml:{line}" in one for one in found), found


def test_given_no_agents_then_the_installation_s_are_meant() -> None:
    [schedule] = parse(S.replace('"a"', '"writer"') + CRON).schedules
    assert schedule.agent == "writer"


def test_given_several_agents_then_the_orchestrator_that_leads_them_may_be_asked() -> None:
    both = A + A.replace('"a"', '"b"') + S.replace('agent = "a"', 'agent = "orchestrator"') + CRON
    assert [one.agent for one in parse(both).schedules] == ["orchestrator"]


# ------------------------------------------------------------------------------------------ import


def test_given_schedules_then_they_are_made_once_and_changed_by_name(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    by = Actor("ann at a terminal", "terminal")
    first = import_config(workspace, parse(FILE), by=by)
    assert (first.created, first.schedules) == (("a",), ScheduleChanges(created=("s s",)))
    made = row(workspace)
    assert (made.agent.name, made.task, made.cron, made.enabled) == ("a", "t", "0 9 * * MON", True)
    assert made.next_occurrence is not None
    assert made.periodic_task is not None, "Beat was told"
    again = import_config(workspace, parse("# another comment\n" + FILE), by=by)
    assert again.schedules == ScheduleChanges(unchanged=("s s",))
    assert row(workspace).updated_at == made.updated_at
    changed = import_config(workspace, parse(FILE.replace("0 9", "0 10")), by=by)
    assert changed.schedules == ScheduleChanges(updated=("s s",), fields={"s s": ("cron",)})
    after = row(workspace)
    assert (after.pk, after.cron, after.begins_at) == (made.pk, "0 10 * * MON", made.begins_at)
    entries = AuditEntry.objects.filter(chain=workspace.pk, action__startswith="schedule.")
    assert list(entries.order_by("number").values_list("action", "actor")) == [
        ("schedule.create", "ann at a terminal"),
        ("schedule.change", "ann at a terminal"),
    ]


def test_given_what_the_file_does_not_name_then_pruning_pauses_it_and_nothing_else_does(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(FILE))
    own = Schedule(
        workspace=workspace,
        agent=row(workspace).agent,
        name="a: reminder",
        task="x",
        cron="0 0 1 1 *",
        created_by_run_id=uuid4(),
    )
    save_schedule(own, by=SYSTEM)
    Schedule.objects.filter(workspace=workspace, name="s s").update(
        deliver=[{"kind": "webhook", "endpoint": 2**62}]  # it is gone meanwhile
    )
    assert import_config(workspace, parse(A)).schedules == ScheduleChanges()
    assert import_config(workspace, parse(A), prune=True).schedules.paused == ("s s",)
    assert (row(workspace).enabled, row(workspace, "a: reminder").enabled) == (False, True)
    assert import_config(workspace, parse(A), prune=True).schedules.paused == ()
    assert import_config(workspace, parse(FILE)).schedules.fields == {"s s": ("deliver",)}
    assert not row(workspace).enabled


def test_given_a_paused_schedule_then_only_a_file_that_names_enabled_switches_it_on(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(FILE))
    change_schedule(row(workspace), {"enabled": False}, by=SYSTEM)
    unsaid = import_config(workspace, parse(FILE))
    assert (unsaid.schedules.unchanged, row(workspace).enabled) == (("s s",), False)
    file = parse(FILE.replace("0 9", "0 10") + "enabled = true")
    expected = {"s s": ("cron", "enabled")}
    assert import_config(workspace, file, dry_run=True).schedules.fields == expected
    assert not row(workspace).enabled
    assert import_config(workspace, file).schedules.fields == expected
    assert row(workspace).enabled


def test_given_a_one_off_whose_time_is_over_then_it_is_not_made_and_that_is_said(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    past = A + S + "at = 2020-01-01T00:00:00Z\nbegins_at = 2019-01-01T00:00:00Z\n"
    changes = import_config(workspace, parse(past))
    assert changes.schedules == ScheduleChanges(over=("s s",))
    assert changes.notes == ("The schedule s s was not created: its time is in the past.",)
    paused = import_config(workspace, parse(past + "enabled = false"))
    assert paused.schedules.created == ("s s",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (S.replace('"a"', '"nobody"') + CRON, "The schedule 's s': There is no agent named"),
        (
            FILE + 'deliver = [{ kind = "webhook", endpoint = 1 }]',
            "The schedule 's s': The workspace has no",
        ),
        (
            FILE + "begins_at = 2150-01-01T00:00:00Z\nends_at = 2150-01-01T00:00:01Z",
            "The schedule 's s': The schedule has no firing between its begin and its end.",
        ),
    ],
)
def test_given_what_only_the_installation_knows_to_be_wrong_then_nothing_has_changed(
    empty: Callable[[], Workspace], text: str, sentence: str
) -> None:
    workspace = empty()
    with pytest.raises(ConfigurationError) as refused:
        import_config(workspace, parse(text))
    assert str(refused.value).startswith(sentence)
    assert not Agent.objects.filter(workspace=workspace).exists()
    assert not Schedule.objects.filter(workspace=workspace).exists()


def test_given_a_file_for_one_run_then_its_schedules_are_left_alone(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    entry = ephemeral_agent(workspace, parse(FILE), environ={})
    assert not Schedule.objects.filter(workspace=workspace).exists()
    assert ephemeral_agent(workspace, parse(A), environ={}).origin == entry.origin


# ------------------------------------------------------------------------------------------ export


TITLES = (
    st.text(STORABLE, min_size=1, max_size=20)
    .map(str.strip)
    .filter(lambda name: name and not name.isdecimal())
)
WHOLE = st.integers(0, 2**31).map(lambda number: LATER + timedelta(seconds=number))
RHYTHMS = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("cron"),
            "cron": st.sampled_from(["0 9 * * MON", "*/5  * * * *", "0 0 L * 5#2"]),
        }
    ),
    st.fixed_dictionaries(
        {"kind": st.just("interval"), "every_seconds": st.integers(10, 2**31 - 1)}
    ),
    st.fixed_dictionaries({"kind": st.just("once"), "at": WHOLE}),
)
WHAT = st.one_of(
    st.fixed_dictionaries(
        {
            "task_type": st.sampled_from(["task", "message"]),
            "task": PROMPTS.filter(lambda text: bool(text.strip())),
        }
    ),
    st.fixed_dictionaries(
        {
            "task_type": st.just("tool_call"),
            "tool": st.just("calculate"),
            "arguments": st.fixed_dictionaries({"expression": PROMPTS}),
            "task": PROMPTS,
        }
    ),
)
TARGETS = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("email"), "to": st.just(["ann@example.org", "b@example.org"])},
        optional={"subject": NAMES, "attach": st.booleans(), "references": st.just(["<a@b>"])},
    ),
    st.fixed_dictionaries({"kind": st.just("artifact"), "name": NAMES.map("x{}".format)}),
)
REST = st.fixed_dictionaries(
    {
        "time_zone": st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
        "catch_up": st.sampled_from(["none", "latest", "all"]),
        "overlap": st.sampled_from(["skip", "queue", "parallel"]),
        "jitter_seconds": st.sampled_from([0, 1, 3600]),
        "require_approval": st.booleans(),
        "deliver": st.lists(TARGETS, max_size=2, unique_by=lambda target: target.get("name")),
        "enabled": st.booleans(),
    },
    optional={"begins_at": st.just(datetime(2050, 1, 1, 1, 2, 3, tzinfo=UTC))},
)


@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=st.dictionaries(TITLES, st.tuples(RHYTHMS, WHAT, REST), max_size=4))
def test_what_is_exported_imports_to_the_same_schedules_and_exports_to_the_same_bytes(
    empty: Callable[[], Workspace],
    content: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]],
) -> None:
    workspace = empty()
    agent = Agent.objects.create(workspace=workspace, name="a", system_prompt="p")
    ToolBinding.objects.create(agent=agent, tool="calculate")
    publish_agent(agent)
    for name, parts in content.items():
        columns = {key: found for part in parts for key, found in part.items()}
        made = Schedule(workspace=workspace, agent=agent, name=name, **columns)
        save_schedule(made, by=SYSTEM)

    text = export(workspace)
    copy = empty()
    changes = import_config(copy, parse(text))

    assert set(changes.schedules.created) == set(content)
    assert export(copy) == text
    assert columns_of(copy) == columns_of(workspace)
    before = list(Schedule.objects.filter(workspace=workspace).order_by("pk").values())
    assert set(import_config(workspace, parse(text)).schedules.unchanged) == set(content)
    assert list(Schedule.objects.filter(workspace=workspace).order_by("pk").values()) == before


def columns_of(workspace: Workspace) -> dict[str, tuple[Any, ...]]:
    rows = Schedule.objects.filter(workspace=workspace)
    return {one.name: tuple(getattr(one, name) for name in ("kind", *SETTINGS)) for one in rows}


def test_what_is_exported_is_pleasant_to_read(empty: Callable[[], Workspace]) -> None:
    workspace = empty()
    create_default_team(workspace)
    import_config(
        workspace,
        parse(
            S.replace('"a"', '"writer"').replace('"t"', '"""\nOne.\nTwo.\n"""')
            + "every_seconds = 60\nbegins_at = 2150-01-01T10:00:00+01:00\n"
            'time_zone = "Europe/Berlin"\n'
            'deliver = [{ kind = "email", to = ["ann@example.org"] }]\n'
        ),
    )
    own = Schedule(
        workspace=workspace,
        agent=row(workspace).agent,
        name="writer: reminder",
        task="x",
        cron="0 0 1 1 *",
        created_by_run_id=uuid4(),
    )
    save_schedule(own, by=SYSTEM)
    _, _, found = export(workspace).partition("[[schedules]]\n")
    assert found == (
        'name = "s s"\nagent = "writer"\ntask = """\nOne.\nTwo."""\nevery_seconds = 60\n'
        'time_zone = "Europe/Berlin"\nbegins_at = 2150-01-01T09:00:00Z\n'
        'deliver = [{ kind = "email", to = ["ann@example.org"] }]\n'
    ), "with no default, and without what the agent planned for itself"


# ------------------------------------------------------------------------------------------- limits


def column(name: str) -> models.Field[Any, Any]:
    found = Schedule._meta.get_field(name)
    assert isinstance(found, models.Field)
    return found


def test_the_file_has_a_key_for_every_column_people_edit() -> None:
    edited = {field.name for field in Schedule._meta.get_fields() if getattr(field, "editable", 0)}
    assert set(ScheduleSection.model_fields) == edited - {"id", "workspace", "kind", "updated_at"}
    with pytest.raises(FieldDoesNotExist):
        column("nothing")


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_keys_default_is_the_columns(name: str) -> None:
    assert DEFAULTS[name] == (column(name).get_default() or DEFAULTS[name])


@pytest.mark.parametrize("name", ["task_type", "catch_up", "overlap"])
def test_a_choice_is_one_of_the_columns(name: str) -> None:
    choices = column(name).choices
    assert choices is not None
    words = {
        "task_type": '\ntool = "calculate"\narguments = { expression = "1" }'
        if name == "task_type"
        else ""
    }
    for choice, _ in choices:
        more = words.get(name, "") if choice == "tool_call" else ""
        text = S + CRON if choice == "workflow" else FILE  # of an installation's agents
        assert parse(f"{text}{name} = {value(str(choice))}{more}").schedules
    assert problems(f'{FILE}{name} = "x"')


@pytest.mark.parametrize("name", ["name", "tool", "cron", "time_zone"])
def test_a_text_is_as_long_as_its_column_allows_also_for_the_verb(
    empty: Callable[[], Workspace], name: str
) -> None:
    workspace = empty()
    import_config(workspace, parse(FILE))
    longest = column(name).max_length or 0
    found = row(workspace)
    setattr(found, name, "x" * (longest + 1))
    found.task_type = "tool_call" if name == "tool" else found.task_type
    with pytest.raises(ScheduleError, match=f"{name} has more than {longest} characters"):
        save_schedule(found, by=SYSTEM)
    text = FILE.replace('name = "s s"', "") if name == "name" else FILE.replace(CRON, "")
    long = f'{name} = "{"x" * (longest + 1)}"'
    assert any(f"at most {longest} characters" in line for line in problems(text + long))
