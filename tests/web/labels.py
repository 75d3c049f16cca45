"""Labels and sentences of pages that the tests of several files look for, each written once."""

from __future__ import annotations

from typing import Final

BACK_TO_WORK: Final = "Back to the work pages"
CLEAR_FILTERS: Final = "Clear the filters"
DRAIN: Final = "Drain and stop"
FORK: Final = "Fork from here"
FORK_DIALOG: Final = "Fork this run"
FORK_START: Final = "Where it begins"
NO_RUNS: Final = "No run matches."
NOTHING_WAITS: Final = "Nothing waits for you"
OUTCOME: Final = "What was its result?"
RESUME: Final = "Resume it"
REVIEW: Final = "Review the changes"
SENT: Final = "What it was sent"
STEER: Final = "Send it a message"
STOP: Final = "Stop the workspace"
STOP_DIALOG: Final = "Stop this workspace"
