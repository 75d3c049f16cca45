"""The team of a configuration file, for one run: nothing that people edit in the admin changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agents.actions.start_run import find_agent
from heartbit_site.cli.escape import visible
from heartbit_site.cli.output import note
from heartbit_site.config.apply import ephemeral_agent
from heartbit_site.config.read import load

if TYPE_CHECKING:
    from pathlib import Path

    from agents.models import Agent
    from heartbit_site.base.models import Workspace


def team_of(workspace: Workspace, file: Path, agent: str) -> Agent:
    """The agent to ask: the one named, else the file's first.

    Where the file says that a provider is, this process looks for it, unless the environment says
    otherwise.

    Raises:
        ConfigFileError: The file cannot be used.
        ConfigurationError: It cannot be read, or one of its agents cannot be published.
        AgentNotFoundError: It has no agent of that name.
    """
    configuration = load(file)
    entry = ephemeral_agent(workspace, configuration)
    note(f"Using the agents of {visible(str(file))}.")
    for sentence in configuration.notes:
        note(sentence)
    for provider, url in configuration.base_urls.items():
        os.environ.setdefault(f"{provider.upper().replace('-', '_')}_BASE_URL", url)
    return find_agent(workspace, agent, origin=entry.origin) if agent else entry
