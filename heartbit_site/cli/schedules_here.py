"""The schedules of this installation, through its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models import Run
from heartbit_site.api import schedule_forms as forms
from heartbit_site.api.schedule_edits import change_schedule, make_schedule
from heartbit_site.api.schedule_inputs import ScheduleChangeIn, ScheduleIn, SpanIn
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.local_backend import LocalBackend
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.requests_here import asked, checked
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.run_views import detail
from scheduling.actions.backfill_schedule import backfill_schedule
from scheduling.actions.remove_schedule import remove_schedule
from scheduling.actions.run_schedule_now import run_schedule_now
from scheduling.models import Firing, Schedule
from scheduling.outcomes import with_outcomes
from scheduling.querysets import find_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.backend import Backend


class Here:
    """See ``schedules.Schedules``."""

    def all(self) -> list[dict[str, Any]]:
        """Every schedule, by name."""
        rows = forms.summaries(Schedule.objects.filter(workspace=default_workspace()))
        return forms.schedule_summaries(list(rows.order_by("name")))

    def one(self, name: str) -> dict[str, Any]:
        """One, by its name or number."""
        return forms.schedule(find_schedule(default_workspace(), name))

    def firings(self, name: str, count: int) -> list[dict[str, Any]]:
        """What became of its slots, the latest first."""
        found = find_schedule(default_workspace(), name)
        rows = with_outcomes(Firing.objects.filter(schedule=found)).order_by("-slot")
        return forms.firings(list(rows[:count]))

    @property
    def backend(self) -> Backend:
        """This installation."""
        return LocalBackend()

    def add(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make one."""
        body = checked(ScheduleIn, given)
        with asked():
            return forms.schedule(make_schedule(default_workspace(), body, by=actor()))

    def change(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is given."""
        body = checked(ScheduleChangeIn, given)
        with asked():
            return forms.schedule(change_schedule(default_workspace(), name, body, by=actor()))

    def remove(self, name: str) -> None:
        """Remove it, with the log of its slots."""
        remove_schedule(find_schedule(default_workspace(), name), by=actor())

    def run(self, name: str) -> str:
        """Start its run now; the run's id. Says so when no worker serves its queue."""
        started = run_schedule_now(find_schedule(default_workspace(), name), by=actor())
        warn_without_worker(detail(Run.objects.get(pk=started)))
        return str(started)

    def backfill(self, name: str, begin: str, end: str) -> int:
        """Make up for the slots of a span; how many will run."""
        found = find_schedule(default_workspace(), name)
        body = checked(SpanIn, {"from": begin, "to": end})
        with asked():
            return backfill_schedule(found, *body.both(), by=actor())
