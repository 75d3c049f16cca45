"""Play a run on the process's host, with a model of the test's own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agents.llm.adapters.scripted import Scripted, ScriptedModel
from agents.llm.messages import ChatRequest
from agents.llm.testing.cassette import Cassette
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from heartbit_site.config.read import load
from heartbit_site.library import Heartbit, shared_host
from heartbit_site.library.execution import execute
from heartbit_site.library.team_request import STARTER, TeamRequest, create_run
from heartbit_site.testing.played_run import PlayedRun, played


async def play(
    agent: Heartbit | Path,
    task: str,
    *,
    model: Sequence[Scripted] | Callable[[ChatRequest], Scripted] | Path,
    user: Any,
    workspace: Workspace,
) -> PlayedRun:
    """Run a task to its end; see ``heartbit_site.testing.plugin.Play``.

    Raises:
        ConfigurationError: The agent or the cassette cannot be used.
    """
    builder = Heartbit() if isinstance(agent, Path) else agent
    name = f"openai:scripted-{secrets.token_hex(6)}"  # every reference names a known provider
    if isinstance(model, Path):
        cassette = Cassette.load(model)
        scripted, task = cassette.model(name=name), task or cassette.task
    else:
        scripted = ScriptedModel(model, name=name)
    request = TeamRequest(
        task=task,
        workspace=workspace.slug,
        team=builder.team,
        entries=builder.entries,
        thread=None,
        model=name,
        by=STARTER if user is None else Actor(user.get_username(), "system", user.pk),
        configuration=load(agent) if isinstance(agent, Path) else None,
    )
    shared = shared_host.acquire()
    try:
        with shared.host.models.replaced_by(scripted):
            found = await execute(
                shared, partial(create_run, request), builder.callbacks, builder.answer_type
            )
    finally:
        shared_host.release()
    return played(found, scripted.requests)
