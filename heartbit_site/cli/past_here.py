"""The past of this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.fork_run import fork_run
from agents.actions.rollback_agent import rollback_agent
from agents.choices import Home
from agents.models import Run
from agents.querysets import find_past_run
from agents.turns import describe_turn
from agents.versions import find_editable, versions_of
from heartbit_site.api import past_forms
from heartbit_site.cli import describe
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.local_backend import LocalBackend
from heartbit_site.cli.outcome import warn_without_worker
from heartbit_site.cli.run_streams import stay
from heartbit_site.first_start import default_workspace
from heartbit_site.operations.run_views import detail

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID


class Here:
    """See ``past.Past``."""

    def turn(self, run: str, number: int) -> dict[str, Any]:
        """One turn with everything that is known of it."""
        return describe_turn(find_past_run(default_workspace(), run), number)

    def fork(self, run: str, turn: int, edits: Mapping[str, Any]) -> dict[str, Any]:
        """Fork a run on the fleet; the new one as `--json` prints it."""
        made = Run.objects.get(pk=forked(run, turn, edits, Home.FLEET))
        return describe.run_tree(detail(made))

    def warn(self, run: Mapping[str, Any]) -> None:
        """Say so when no worker serves the queue of a run that was made a moment ago."""
        warn_without_worker(detail(Run.objects.get(pk=run["run"])))

    def stay(self, run: Mapping[str, Any], *, as_json: bool, plain: bool) -> int:
        """Show a run to its end; the exit code says how it ended."""
        made = detail(Run.objects.get(pk=run["run"]))
        return stay(LocalBackend(), made, as_json=as_json, plain=plain)

    def versions(self, agent: str) -> dict[str, Any]:
        """An agent's versions, the newest first."""
        row = find_editable(default_workspace(), agent)
        return past_forms.versions(row, versions_of(row))

    def diff(self, agent: str, older: int | None, newer: int | None) -> dict[str, Any]:
        """What changed between two versions."""
        return past_forms.diff(find_editable(default_workspace(), agent), older, newer)

    def rollback(self, agent: str, number: int, *, anyway: bool) -> dict[str, Any]:
        """Make an earlier version what the agent is."""
        row = find_editable(default_workspace(), agent)
        done = rollback_agent(row, number, by=actor(), anyway=anyway)
        return past_forms.rolled_back(row, done)


def forked(run: str, turn: int, edits: Mapping[str, Any], home: Home) -> UUID:
    """The id of a fork; `edits` as the REST API takes them."""
    source = find_past_run(default_workspace(), run)
    return fork_run(source, turn, edits=past_forms.edits(edits), by=actor(), home=home)
