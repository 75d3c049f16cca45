"""The past of this installation."""

from __future__ import annotations

import getpass
import json
from datetime import UTC
from typing import TYPE_CHECKING, Any

from agents.actions.fork_run import Edits, fork_run
from agents.actions.rollback_agent import rollback_agent
from agents.choices import Home
from agents.models import Run
from agents.querysets import find_run, tree
from agents.turns import describe_turn
from agents.versions import difference, find_editable, pair, versions_of
from heartbit_site.cli import describe
from heartbit_site.cli.fleet import stay, warn_without_worker
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID


class Here:
    """See ``past.Past``."""

    def turn(self, run: str, number: int) -> dict[str, Any]:
        """One turn with everything that is known of it."""
        return describe_turn(whole(run), number)

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

    def versions(self, agent: str) -> dict[str, Any]:
        """An agent's versions, the newest first."""
        row = find_editable(default_workspace(), agent)
        rows = [
            {
                "number": version.number,
                "hash": version.hash,
                "created_at": version.created_at.astimezone(UTC).isoformat(),
                "current": version.pk == row.current_version_id,
                "runs": runs,
            }
            for version, runs in versions_of(row)
        ]
        return {"agent": row.name, "versions": rows}

    def diff(self, agent: str, older: int | None, newer: int | None) -> dict[str, Any]:
        """What changed between two versions."""
        row = find_editable(default_workspace(), agent)
        first, second = pair(row, older, newer)
        found = difference(first, second)
        numbers = {"older": first.number, "newer": second.number, "changed": bool(found)}
        return {"agent": row.name, **numbers, **found.as_dict()}

    def rollback(self, agent: str, number: int, *, anyway: bool) -> dict[str, Any]:
        """Make an earlier version what the agent is."""
        row = find_editable(default_workspace(), agent)
        done = rollback_agent(row, number, by=author(), anyway=anyway)
        return {
            "agent": row.name,
            "version": done.version.number,
            "wanted": done.wanted,
            "differs": done.differs,
        }


def whole(run: str) -> Run:
    """The run with what reading its past needs."""
    found = find_run(default_workspace(), run)
    return Run.objects.select_related("version__agent", "workspace").get(pk=found.pk)


def forked(run: str, turn: int, edits: Mapping[str, Any], home: Home) -> UUID:
    """The id of a fork; `edits` as the REST API takes them."""
    arguments = edits.get("arguments")
    wanted = Edits(
        message=edits.get("message", ""),
        task=edits.get("task", ""),
        call=edits.get("call", ""),
        arguments=None if arguments is None else json.dumps(arguments),
        result=edits.get("result"),
        version=edits.get("version"),
    )
    return fork_run(whole(run), turn, edits=wanted, by=author(), home=home)


def author() -> str:
    """Who sits at this terminal, as far as the system knows."""
    try:
        return f"{getpass.getuser()} at a terminal"
    except (OSError, KeyError):  # a user id without a name
        return "somebody at a terminal"
