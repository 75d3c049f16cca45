"""Find times at which everybody is free, from busy times and working hours.

Usage: python common_times.py PEOPLE.json

The file is one object; every time has its offset, so that zones need no further data:

    {"minutes": 50,
     "from": "2026-03-02T08:00+01:00",
     "until": "2026-03-04T18:00+01:00",
     "people": [
       {"name": "Ann", "offset": "+01:00", "hours": ["09:00", "17:00"], "days": [0, 1, 2, 3, 4],
        "busy": [["2026-03-02T09:00+01:00", "2026-03-02T12:00+01:00"]]}]}

``hours`` and ``days`` (Monday is 0) are a person's own, at ``offset``; left out: 09:00 to 17:00,
from Monday to Friday. Prints up to ten times, as every clock shows them.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

_STEP = timedelta(minutes=30)
_MOST = 10
_LONGEST_DAYS = 62


def common_times(wanted: dict[str, Any]) -> list[datetime]:
    """Return the times within everybody's hours at which everybody is free, the earliest first."""
    length = timedelta(minutes=wanted.get("minutes", 30))
    begin, end = _moment(wanted["from"]), _moment(wanted["until"])
    if end - begin > timedelta(days=_LONGEST_DAYS):
        raise ValueError(f"from and until are more than {_LONGEST_DAYS} days apart")
    begin = begin.replace(second=0, microsecond=0)
    if begin.minute % 30:
        begin += _STEP - timedelta(minutes=begin.minute % 30)
    found: list[datetime] = []
    while begin + length <= end and len(found) < _MOST:
        if all(_is_free(person, begin, begin + length) for person in wanted["people"]):
            found.append(begin)
        begin += _STEP
    return found


def _is_free(person: dict[str, Any], begin: datetime, end: datetime) -> bool:
    zone = datetime.fromisoformat(f"2000-01-01T00:00{person['offset']}").tzinfo
    first, last = (time.fromisoformat(each) for each in person.get("hours", ("09:00", "17:00")))
    local, over = begin.astimezone(zone), end.astimezone(zone)
    if local.weekday() not in person.get("days", range(5)) or over.date() != local.date():
        return False
    if local.time() < first or over.time() > last:
        return False
    busy = ((_moment(start), _moment(stop)) for start, stop in person.get("busy", ()))
    return all(stop <= begin or start >= end for start, stop in busy)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no offset: write it like 2026-03-02T09:00+01:00")
    return moment


def main(arguments: list[str]) -> int:
    """Print the common times of the file that the command line names."""
    if len(arguments) != 1:
        print("Name one file: python common_times.py PEOPLE.json", file=sys.stderr)
        return 2
    try:
        wanted = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        found = common_times(wanted)
    except (KeyError, TypeError, ValueError) as error:
        print(f"The input cannot be used: {error}. See the docstring.", file=sys.stderr)
        return 2
    for moment in found:
        clocks = []
        for person in wanted["people"]:
            zone = datetime.fromisoformat(f"2000-01-01T00:00{person['offset']}").tzinfo
            clocks.append(f"{person['name']} {moment.astimezone(zone):%a %d %b %Y %H:%M}")
        print("; ".join(clocks))
    if not found:
        print(
            "There is no such time: shorten the meeting, widen the window, or leave somebody out."
        )
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
