"""Tools and models that only the Python program that defines a run's agents has."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F, Q

from agents.errors import ProgramToolsError
from agents.llm.program_models import find, is_program_model
from agents.models import AgentVersion, Run
from tools.definitions.registry import definition_hash, registry
from tools.models import CatalogueTool


def refuse_without_tools_of_version(version_id: int, run_id: UUID) -> None:
    """Reject a version with a program's tools that this process lacks.

    Raises:
        ProgramToolsError: The process lacks a tool.
    """
    _refuse(Q(pk=version_id), run_id)


def refuse_without_tools_of_tree(root: Run) -> None:
    """Reject a tree that needs a program's tools that this process lacks.

    Raises:
        ProgramToolsError: The process lacks a tool of a run, or of an agent that may get a task.
    """
    agent = root.version.agent
    team = Q(
        agent__workspace_id=agent.workspace_id,
        agent__origin=agent.origin,
        pk=F("agent__current_version_id"),
    )
    _refuse(Q(runs__root_id=root.pk) | team, root.pk)


def _refuse(versions: Q, run_id: UUID) -> None:
    """Reject a model or a tool that only a program has: no registry and no catalogue has it."""
    found = AgentVersion.objects.filter(versions).exclude(agent__origin="")
    snapshots = list(found.values_list("snapshot", flat=True))
    for model in [snapshot.get("model", "") for snapshot in snapshots]:
        if is_program_model(model) and find(model) is None:
            raise ProgramToolsError(
                f"Run {run_id} needs its Python program, whose model {model} this process does not "
                f'have: continue in that program with .resume("{run_id}").'
            )
    pinned = {(tool["name"], tool["hash"]) for snapshot in snapshots for tool in snapshot["tools"]}
    lacking = {name for name, digest in pinned if not _has(name, digest)}
    installed = CatalogueTool.objects.filter(name__in=lacking).values_list("name", flat=True)
    if names := sorted(lacking.difference(installed)):
        raise ProgramToolsError(
            f"Run {run_id} needs its Python program, whose tool {names[0]} this process does not "
            f'have as it was when the run began: continue in that program with .resume("{run_id}").'
        )


def _has(name: str, digest: str) -> bool:
    return name in registry and definition_hash(registry[name]) == digest
