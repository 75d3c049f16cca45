"""The team of a configuration file, for one run: nothing that people edit in the admin changes."""

from __future__ import annotations

import os
from pathlib import Path

from agents.actions.run_request import task_text
from agents.models import Agent
from agents.output.payload import parse
from agents.querysets import find_run
from agents.reads.agents import find_agent
from heartbit_site.base.access import Access
from heartbit_site.base.models import Workspace
from heartbit_site.cli.terminal.margin import visible
from heartbit_site.cli.terminal.output import note
from heartbit_site.config.apply import ephemeral_agent
from heartbit_site.config.read import load
from heartbit_site.contract.runs import RunDetailOut, RunIn
from heartbit_site.operations.attached import attachments
from heartbit_site.operations.run_views import detail
from heartbit_site.operations.runs import accept


def team_of(workspace: Workspace, file: Path, agent: str) -> Agent:
    """Return the agent to ask: the named one, else the file's first.

    Where the file says that a provider is, this process looks for it, unless the environment says
    otherwise.

    Raises:
        ConfigFileError: The file cannot be used.
        ConfigurationError: It cannot be read, or one of its agents cannot be published.
        AgentNotFoundError: It has no agent of that name.
    """
    configuration = load(file, workspace)
    entry = ephemeral_agent(workspace, configuration)
    note(f"Using the agents of {visible(str(file))}.")
    for sentence in configuration.notes:
        note(sentence)
    for provider, url in configuration.base_urls.items():
        os.environ.setdefault(f"{provider.upper().replace('-', '_')}_BASE_URL", url)
    return find_agent(workspace, agent, origin=entry.origin) if agent else entry


def start_with(
    access: Access, file: Path, body: RunIn, idempotency_key: str | None
) -> RunDetailOut:
    """Start a run on the fleet that an agent of the file's team does.

    Raises:
        EmptyTaskError: The task is blank.
        ConfigFileError: As for ``team_of``.
        ConfigurationError: As for ``team_of``.
        AgentNotFoundError: As for ``team_of``.
    """
    payload = parse(body.payload) if body.payload is not None else None
    task_text(body.task, payload)  # an empty one is refused before a team is made
    chosen = team_of(access.workspace, file, body.agent)
    task = body.model_copy(update={"agent": chosen.name})
    given = attachments(access, body.images, body.documents)
    read = given.read_beside(body.task) if given else (body.task, ())
    made = accept(access, task, idempotency_key, read, origin=chosen.origin)
    return detail(find_run(access, made.run_id))
