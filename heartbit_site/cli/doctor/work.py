"""The checks of what people made: the configuration file, agents' tools, what waits for them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import DatabaseError

from agents.models import Agent
from agents.querysets import waits_for_people
from heartbit_site.base import variables
from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.amounts import duration
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.cli.doctor.examine import Check
from heartbit_site.config.locate import find
from heartbit_site.config.read import load
from heartbit_site.first_start import default_workspace
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash
from tools.sandbox.choice import describe_sandbox

LONG: Final = timedelta(days=1)


def _workspace() -> list[Check]:
    """Find the workspace that HEARTBIT_WORKSPACE or --workspace names."""
    if not variables.WORKSPACE.read():
        return []
    try:
        return [Check("workspace", "ok", default_workspace().slug)]
    except NoWorkspaceError as error:
        fix = "Correct HEARTBIT_WORKSPACE, or unset it to work in the default one."
        return [Check("workspace", "fail", str(error), fix)]


def _found_workspace() -> Workspace | None:
    with contextlib.suppress(NoWorkspaceError, DatabaseError):  # said by other checks
        return default_workspace()
    return None


def _configuration() -> list[Check]:
    try:
        file = find()
        if file is None:
            return []
        agents = load(file, _found_workspace()).agents
    except ConfigurationError as error:
        fix = "`heartbit config check` lists every problem."
        return [Check("configuration", "fail", str(error), fix)]
    count = f"{len(agents)} agents" if agents else "the default team"
    return [Check("configuration", "ok", f"{file}: {count}")]


def _tools() -> list[Check]:
    """Agents that were published with another definition of a tool than is installed."""
    published = Agent.objects.filter(current_version__isnull=False, enabled=True, origin="")
    fields = ("workspace_id", "workspace__slug", "name", "current_version__snapshot__tools")
    rows = published.order_by("workspace", "name").values_list(*fields)
    known: dict[int, dict[str, str]] = {}
    stale = []
    for workspace, slug, name, tools in rows:
        if workspace not in known:
            found = catalogue(workspace)
            known[workspace] = {tool: definition_hash(spec) for tool, spec in found.items()}
        installed = known[workspace]
        changed = [each["name"] for each in tools if installed.get(each["name"]) != each["hash"]]
        if changed:
            stale.append(f"{slug}/{name} ({', '.join(changed)})")
    if not stale:
        return [Check("agents", "ok", f"{len(rows)}, with the tools they were published with")]
    detail = f"tools changed since these were published: {'; '.join(stale)}"
    fix = "Save the agent in the admin to publish it again, or take the tool from it."
    return [Check("agents", "warn", detail, fix)]


def _approvals() -> list[Check]:
    now = datetime.now(UTC)
    begun = list(waits_for_people().values_list("created_at", flat=True))
    if not begun:
        return []
    old = [since for since in begun if now - since > LONG]
    if not old:
        return [Check("approvals", "ok", f"{len(begun)} calls wait for a person")]
    oldest = duration(now - min(old))
    detail = f"{len(old)} calls wait for more than a day, the oldest for {oldest}"
    fix = "`heartbit approve`, `heartbit resolve` and `heartbit answer` list and decide them."
    return [Check("approvals", "warn", detail, fix)]


def _sandbox() -> list[Check]:
    name, problem = describe_sandbox()
    if problem is None:
        return [Check("sandbox", "ok", f"{name} holds on this machine")]
    return [Check("sandbox", "warn", problem, "Code is refused until then: docs/howto/code.md.")]


LOOKS: Final[list[Callable[[], list[Check]]]] = [
    *(_workspace, _configuration, _tools, _sandbox, _approvals),
]
