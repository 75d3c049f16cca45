"""`heartbit schedules`: what agents do by the clock."""

from __future__ import annotations

from enum import StrEnum

import typer

from heartbit_site.cli import delivery_options, options, remote_options
from heartbit_site.cli.default_command import FirstByDefault


class CatchUp(StrEnum):
    """Policy for occurrences that passed while nothing could fire."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


class Overlap(StrEnum):
    """Policy for an occurrence while the last run is still running."""

    SKIP = "skip"
    QUEUE = "queue"
    PARALLEL = "parallel"


NEW = typer.Argument(metavar="NAME", help="Purpose of the schedule, such as 'Monday sales report'.")
NAME = typer.Argument(metavar="NAME", help="The schedule's name, or its number.")
TASK = typer.Option("", "--task", "-t", metavar="TEXT", help="Give the agent this task each time.")
CRON = typer.Option(
    "", "--cron", metavar="EXPRESSION", help="Minute hour day month weekday: '0 9 * * MON'."
)
EVERY = typer.Option("", "--every", metavar="SPAN", help="Again and again, such as 15m or 1d.")
AT = typer.Option("", "--at", metavar="TIME", help="Once, such as 2026-12-01T09:00.")
AFTER = typer.Option("", "--in", metavar="SPAN", help="Once, so long from now, such as 3d.")
TIME_ZONE = typer.Option(
    "UTC", "--time-zone", metavar="ZONE", help="Set the IANA time zone of the times."
)
CATCH_UP = typer.Option(
    CatchUp.LATEST, "--catch-up", help="Run missed occurrences: none, only the latest, or all."
)
OVERLAP = typer.Option(
    Overlap.SKIP,
    "--overlap",
    help="Skip, queue or start an occurrence while the last run is still running.",
)
JITTER = typer.Option("", "--jitter", metavar="SPAN", help="Fire up to so late, such as 5m.")
CONVERSATION = typer.Option(
    options.OFF, "--conversation", help="Post each task to one conversation, with its history."
)
TOOL = typer.Option("", "--tool", metavar="TOOL", help="Call this tool of the agent, unasked.")
ARGUMENTS = typer.Option(
    "", "--arguments", metavar="JSON", help="Call --tool with these arguments."
)
REQUIRE_APPROVAL = typer.Option(
    options.OFF, "--require-approval", help="Require approval of every tool call."
)
FROM = typer.Option(..., "--from", metavar="TIME", help="The first moment, in the schedule's zone.")
TO = typer.Option(..., "--to", metavar="TIME", help="The last one.")

schedules = typer.Typer(
    name="schedules",
    cls=FirstByDefault,
    rich_markup_mode=None,
    help="Show and make what agents do by the clock.",
)


@schedules.command(name="list")
def list_(*, url: str | None = remote_options.URL, as_json: bool = options.JSON) -> None:
    """List the schedules with what comes next."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.list_all(url, as_json=as_json))


@schedules.command()
def add(
    name: str = NEW,
    *,
    agent: str = options.AGENT,
    task: str = TASK,
    cron: str = CRON,
    every: str = EVERY,
    at: str = AT,
    after: str = AFTER,
    time_zone: str = TIME_ZONE,
    catch_up: CatchUp = CATCH_UP,
    overlap: Overlap = OVERLAP,
    jitter: str = JITTER,
    email: list[str] = delivery_options.EMAIL,
    webhook: list[str] = delivery_options.WEBHOOK,
    artifact: list[str] = delivery_options.ARTIFACT,
    conversation: bool = CONVERSATION,
    tool: str = TOOL,
    arguments: str = ARGUMENTS,
    require_approval: bool = REQUIRE_APPROVAL,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Make a schedule: --cron, --every, --at or --in says when."""
    from heartbit_site.cli import schedules_report as report

    order = report.ScheduleOptions(
        name=name,
        agent=agent,
        task=task,
        cron=cron,
        every=every,
        at=at,
        after=after,
        time_zone=time_zone,
        catch_up=catch_up.value,
        overlap=overlap.value,
        jitter=jitter,
        emails=email,
        webhooks=webhook,
        artifacts=artifact,
        conversation=conversation,
        tool=tool,
        arguments=arguments,
        require_approval=require_approval,
    )
    raise typer.Exit(report.add(url, order, as_json=as_json))


@schedules.command()
def show(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Show a schedule: what it does, its next slots, and what became of the last ones."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.show(url, name, as_json=as_json))


@schedules.command()
def run(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Run a schedule once, now, and print the run's id; its slots stay as they are."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.run(url, name, as_json=as_json))


@schedules.command()
def pause(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Let the slots of a schedule pass until it is resumed."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.switch(url, name, enabled=False, as_json=as_json))


@schedules.command()
def resume(
    name: str = NAME, *, url: str | None = remote_options.URL, as_json: bool = options.JSON
) -> None:
    """Let a paused schedule go on, from its next slot."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.switch(url, name, enabled=True, as_json=as_json))


@schedules.command()
def backfill(
    name: str = NAME,
    *,
    begin: str = FROM,
    end: str = TO,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Run the slots of a past span that have no run."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.backfill(url, name, begin, end, as_json=as_json))


@schedules.command()
def remove(
    name: str = NAME,
    *,
    yes: bool = options.YES,
    url: str | None = remote_options.URL,
    as_json: bool = options.JSON,
) -> None:
    """Remove a schedule and the log of its slots; its runs stay."""
    from heartbit_site.cli import schedules_report as report

    raise typer.Exit(report.remove(url, name, yes=yes, as_json=as_json))


app = schedules
