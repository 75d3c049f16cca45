"""Workflows of a skill's ``workflows.json`` as step workflows of the workspace.

Usage::

    specs = read_workflows(folder)      # [WorkflowSpec(name="greeting-arrival", ...)]
    names, notes = write_workflows(workspace, specs, by=actor)

A workflow is ``{name, description, steps}``. A step is ``{id or name, agent or tool, action,
depends_on, inputs}``: an agent is asked to do the action with the inputs, a tool is called with
them; without ``inputs`` an agent is given the outputs of the steps that it depends on, else the
workflow's input. Workflows with steps of another form, such as bare sentences, are for agents to
read, and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction

from agents.actions.save_agent import change_agent, create_agent
from agents.definitions import validation_messages
from agents.models import Agent
from agents.skills.folder import SkillFolder
from agents.skills.spec import InvalidSkillError
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

FILES: Final = ("references/workflows.json", "workflows.json")
_OTHER: Final = re.compile(r"[^a-z0-9]+")


def read_workflows(folder: SkillFolder) -> list[WorkflowSpec]:
    """Return the step workflows of a skill, each named ``SKILL-WORKFLOW``.

    Raises:
        InvalidSkillError: Names each workflow that cannot run, with its fault.
    """
    path = next((path for path in FILES if path in folder.files), None)
    if path is None:
        return []
    try:
        content = parse_untrusted_json(folder.files[path])
    except UntrustedJSONError:
        return []  # a file of another purpose; that of the older format was read before
    found, faults = [], []
    for entry in _entries(content):
        steps = _steps(entry.get("steps"))
        if not steps:
            continue
        name = _word(f"{folder.spec.name}-{entry.get('name') or entry.get('id')}")[:64]
        about = str(entry.get("description", ""))[:300]
        table = {"name": name, "description": about, "steps": dict(steps)}
        complaints = list(validation_messages.check(WorkflowSpec, table, ()))
        for where, message in complaints:
            sentence = validation_messages.sentence_of((name, *where), message)
            faults.append(f"{path}: {sentence}")
        if not complaints:
            found.append(WorkflowSpec.model_validate(table))
    if faults:
        raise InvalidSkillError(faults)
    return found


def write_workflows(
    workspace: Workspace, specs: Sequence[WorkflowSpec], *, by: Actor
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Create and change workflows; return their names, and a sentence on each that cannot run yet.

    Without the agents that a workflow names, for instance, it is left out.
    """
    written, notes = [], []
    for spec in specs:
        rows = Agent.objects.filter(workspace=workspace, origin="", name=spec.name)
        try:
            with transaction.atomic():
                if rows.exists():
                    settings = set(WorkflowSpec.model_fields) - {"enabled"}
                    change_agent(workspace, spec.name, spec, settings, by=by)
                else:
                    create_agent(workspace, spec, by=by)
        except HeartbitError as error:
            notes.append(f"The workflow {spec.name} was not made: {error}")
        else:
            written.append(spec.name)
    return tuple(written), tuple(notes)


def _entries(content: object) -> list[dict[str, Any]]:
    """Return the workflows of the file's JSON: a list, or an object by names."""
    inner = content.get("workflows", content) if isinstance(content, dict) else content
    if isinstance(inner, dict):
        return [{"name": name, **each} for name, each in inner.items() if isinstance(each, dict)]
    return [each for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []


def _steps(steps: object) -> list[tuple[str, dict[str, Any]]]:
    """Return the steps by name; none if any of them is of another form."""
    if isinstance(steps, dict):
        steps = [{"id": name, **step} for name, step in steps.items() if isinstance(step, dict)]
    if not isinstance(steps, list) or not all(map(_is_step, steps)):
        return []
    names = [
        str(step.get("id") or step.get("name") or f"step {number}")
        for number, step in enumerate(steps, start=1)
    ]
    words = {name: _identifier(name) for name in names}
    return [(words[name], _step(step, words)) for name, step in zip(names, steps, strict=True)]


def _is_step(step: object) -> bool:
    return isinstance(step, dict) and isinstance(step.get("agent") or step.get("tool"), str)


def _step(step: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    needs = step.get("depends_on", step.get("dependsOn", []))
    needs = [needs] if isinstance(needs, str) else needs
    needed = [words.get(str(one), _identifier(str(one))) for one in needs]
    found: dict[str, Any] = {"needs": needed} if needed else {}
    inputs = step.get("inputs")
    if "agent" not in step:
        return {**found, "tool": step["tool"], "arguments": inputs or {}}
    given = [f"{{{{ steps.{name}.output }}}}" for name in needed] or ["{{ input }}"]
    if isinstance(inputs, dict):
        given = [f"{key}: {_text(value)}" for key, value in inputs.items()]
    elif inputs:
        given = [_text(inputs)]
    action = str(step.get("action") or step.get("task") or "")
    return {**found, "agent": step["agent"], "task": "\n\n".join(filter(None, [action, *given]))}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _word(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")


def _identifier(text: str) -> str:
    return _OTHER.sub("_", text.lower()).strip("_")
