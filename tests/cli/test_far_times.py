"""Times beyond the calendar are refused by the commands in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from heartbit_site.cli.terminal.errors import CommandError
from heartbit_site.cli.terminal.times import moment, until
from scheduling.agent_tools import _moment as planned
from scheduling.errors import ScheduleError

if TYPE_CHECKING:
    from tests.command import Command

FAR = ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59"]
PLAN = ("schedules", "add", "far", "--task", "x", "--agent", "writer")
COMMANDS = [
    *(("keys", "create", "far", "--expires", day) for day in ("9999-12-31", "0001-01-01")),
    *((*PLAN, "--at", far) for far in FAR),
    (*PLAN, "--in", "999999999w"),
    (*PLAN, "--in", "200000000d"),
    (*PLAN, "--every", "999999999w"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles"])
def test_given_a_far_time_then_the_command_refuses_it(
    heartbit: Command, command: tuple[str, ...], zone: str
) -> None:
    ended = heartbit(*command, env={"TZ": zone})
    assert ended.code == 2, ended
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert "internal" not in ended.err.lower()


def test_given_more_days_than_there_have_been_then_nothing_is_old_enough(heartbit: Command) -> None:
    assert heartbit("runs", "archive", "--older-than", "999999999999").code == 0


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_given_a_far_time_then_whatever_reads_one_refuses_it(far: str, zone: str) -> None:
    place = ZoneInfo(zone)
    with pytest.raises(CommandError):
        moment(far, place, "--at")
    with pytest.raises(CommandError):
        until(far, datetime.now(UTC).astimezone(place))
    with pytest.raises(ScheduleError):
        planned(None, far, zone)
