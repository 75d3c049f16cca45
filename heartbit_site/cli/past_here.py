"""Forks in this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.fork_run import fork_run
from agents.choices import Home
from agents.models import Run
from agents.querysets import find_past_run, tree
from heartbit_site.api import past_forms
from heartbit_site.cli import describe
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.fleet import stay, warn_without_worker
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID


class Here:
    """See ``past.Past``."""

    def fork(self, run: str, turn: int, edits: Mapping[str, Any]) -> dict[str, Any]:
        """Fork a run on the fleet; the new one as `--json` prints it."""
        made = Run.objects.get(pk=forked(run, turn, edits, Home.FLEET))
        return describe.run_tree(made, tree(made.root_id))

    def warn(self, run: Mapping[str, Any]) -> None:
        """Say so when no worker serves the queue of a run that was made a moment ago."""
        warn_without_worker(Run.objects.get(pk=run["run"]))

    def stay(self, run: Mapping[str, Any], *, as_json: bool, plain: bool) -> int:
        """Show a run to its end; the exit code says how it ended."""
        return stay(Run.objects.get(pk=run["run"]), as_json=as_json, plain=plain)


def forked(run: str, turn: int, edits: Mapping[str, Any], home: Home) -> UUID:
    """The id of a fork; `edits` as the REST API takes them."""
    source = find_past_run(default_workspace(), run)
    return fork_run(source, turn, edits=past_forms.edits(edits), by=actor(), home=home)
