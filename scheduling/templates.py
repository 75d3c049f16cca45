"""Templates of schedules: what people have done again and again, ready to be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ScheduleTemplate:
    """A schedule to begin with.

    Attributes:
        slug: Name in addresses.
        rhythm: Its recurrence as a sentence (``scheduling.sentences``).
    """

    slug: str
    name: str
    summary: str
    rhythm: str
    task: str


TEMPLATES: Final = (
    ScheduleTemplate(
        "daily-report",
        "Daily report",
        "What happened yesterday, each working day before work begins.",
        "every weekday at 08:00",
        "Write the report of the last working day: what was done, what is open, and what needs a "
        "decision today. At most ten lines, the most important first.",
    ),
    ScheduleTemplate(
        "weekly-summary",
        "Weekly summary",
        "The week in figures and three sentences, for those who were not there.",
        "every Friday at 16:00",
        "Sum up this week in three sentences, then give its figures in a table beside those of the "
        "week before. Name what changed most, and why.",
    ),
    ScheduleTemplate(
        "watch",
        "Watch for changes",
        "Looks again every hour, and reports only what is new.",
        "every hour",
        "Look whether something has changed since the last time. If so, say what, since when, and "
        "what follows from it. If not, answer with the one word: unchanged.",
    ),
    ScheduleTemplate(
        "month-end",
        "Month-end checks",
        "Finds what is missing before the books are closed.",
        "the last day of the month at 12:00",
        "Check whether anything is missing for the end of the month: open documents, unanswered "
        "requests, amounts that do not match. List each with whom to ask.",
    ),
    ScheduleTemplate(
        "reminder",
        "Reminder",
        "Once, at a time of your choice.",
        "tomorrow at 09:00",
        "Remind me, in one friendly sentence, to ",
    ),
)


def find_template(slug: str) -> ScheduleTemplate | None:
    """Return the template of that name; None: there is none."""
    return next((one for one in TEMPLATES if one.slug == slug), None)
