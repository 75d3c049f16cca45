"""Builders of patterns: workflows of agents in a form that has a name.

Usage::

    panel = group_chat(
        "panel",
        ["coder", "reviewer", "tester"],
        select=no_repeat(by_model("moderator")),
        end=any_of(max_messages(20), keyword("APPROVED")),
    )

A pattern gives the same graph as its table in ``heartbit.toml``; nodes and edges may be added to
it. Agents are a list of names, or their roles by name, which prompts show to models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.registry import executors_in
from agents.workflows.patterns.expansion import PATTERNS, expand
from agents.workflows.repairs import decompose as parts
from agents.workflows.repairs import repair_loop as repairs
from heartbit_site.base.errors import ConfigurationError

_EXECUTORS: Final = tuple(executors_in([*vars(repairs).values(), *vars(parts).values()]))
#: Names of agents, or their roles by name.
AgentsLike = Sequence[str] | Mapping[str, str]
#: Settings of a selector or a termination.
Rule = str | dict[str, Any]
#: Settings of a check (``agents.workflows.patterns.checks.CheckSpec``).
Check = Mapping[str, str]


def sequential(name: str, agents: AgentsLike, **settings: Any) -> Workflow:
    """Return a workflow of agents one after another.

    Args:
        name: Name of the workflow.
        agents: The agents, in their order.
        settings: Settings of a workflow; in the patterns below also those of the pattern.

    Raises:
        ConfigurationError: The pattern cannot be built from these settings.
    """
    return _built(name, "sequential", agents, settings)


def concurrent(name: str, agents: AgentsLike, **settings: Any) -> Workflow:
    """Return a workflow of agents side by side.

    Args:
        name: Name of the workflow.
        agents: The agents.
        settings: ``then``, an agent that is sent the task and all answers, and ``on_error``:
            ``fail``, or ``continue`` without the answer of an agent that fails. See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    return _built(name, "concurrent", agents, settings)


def group_chat(
    name: str, agents: AgentsLike, *, end: Rule, select: Rule = "round_robin", **settings: Any
) -> Workflow:
    """Return a workflow of agents that speak in turn.

    Args:
        name: Name of the workflow.
        agents: Participants.
        end: Termination: ``max_messages(20)``, ``any_of(...)`` and so on.
        select: Selector: ``round_robin``, ``smart``, ``by_model(...)``, ``no_repeat(...)``.
        settings: See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    return _built(name, "group_chat", agents, {"end": end, "select": select, **settings})


def handoff(name: str, agents: AgentsLike, **settings: Any) -> Workflow:
    """Return a workflow of agents that pass a task on to each other.

    Args:
        name: Name of the workflow.
        agents: The agents; the first one is sent the task.
        settings: ``routes``, lists of the agents to which each may pass it on (without an entry, to
            all others), and ``max_handoffs``. See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    return _built(name, "handoff", agents, settings)


def magentic(name: str, manager: str, agents: AgentsLike, **settings: Any) -> Workflow:
    """Return a workflow of a manager with a team.

    Args:
        name: Name of the workflow.
        manager: Agent that plans and delegates; its response schema is ``ledger_schema(agents)``
            of ``agents.workflows.patterns.magentic``.
        agents: The team.
        settings: ``max_rounds`` (instructions), ``max_stalls`` (reports without progress in a row
            that lead to another plan) and ``max_replans``. See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    return _built(name, "magentic", agents, {"manager": manager, **settings})


def squad(name: str, agents: AgentsLike, **settings: Any) -> Workflow:
    """Return a workflow of agents that work side by side in rounds, with a board of their own.

    Args:
        name: Name of the workflow.
        agents: Members.
        settings: ``rounds``, and ``lead``, an agent that sums up; without one, the output is the
            board, an object by member. See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    return _built(name, "squad", agents, settings)


def repair_loop(name: str, generate: str, checks: Sequence[Check], **settings: Any) -> Workflow:
    """Return a workflow that generates files, checks them in the sandbox, and repairs them.

    Its output is ``{ok, stage, files, errors}``: a partial result if ``ok`` is false.

    Args:
        name: Name of the workflow.
        generate: Agent that writes files; its response schema is ``files_schema()`` of
            ``agents.workflows.patterns.repair_loop``.
        checks: Checks: each a ``name`` with a ``command`` of the shell, or a ``program`` in a
            ``language``, and perhaps the ``stage`` to which it belongs.
        settings: ``repair`` and ``strong`` (agents), ``stages``, ``mode`` (``fail_fast`` or
            ``collect``), ``rounds`` (repairs in one stage) and ``files`` that are given, and
            locked. See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    given = {"generate": generate, "checks": [dict(one) for one in checks]}
    return _extended(name, "repair_loop", given, settings)


def decompose(
    name: str, plan: str, workflow: str, checks: Sequence[Check], **settings: Any
) -> Workflow:
    """Return a workflow that solves the parts of a task side by side, and checks them together.

    Its output is ``{ok, files, errors}``.

    Args:
        name: Name of the workflow.
        plan: Agent that plans; its response schema is ``parts_schema()`` of
            ``agents.workflows.patterns.decompose``.
        workflow: Workflow that solves a part, with the output of ``repair_loop``.
        checks: Checks of all files, as in ``repair_loop``; parts that they name are solved again.
        settings: ``mode``, ``rounds`` (further ones) and ``max_parallel``. See ``sequential``.

    Raises:
        ConfigurationError: See ``sequential``.
    """
    given = {"plan": plan, "workflow": workflow, "checks": [dict(one) for one in checks]}
    return _extended(name, "decompose", given, settings)


def no_repeat(selector: Rule) -> Rule:
    """Return a selector that never chooses the last speaker."""
    return {"no_repeat": selector}


def by_model(agent: str, **options: str) -> Rule:
    """Return a selector, or a termination, that asks an agent.

    Args:
        agent: The moderator, which names the next speaker, or the judge, which says yes or no.
        options: ``question`` replaces the question; for a selector, ``unknown="fail"`` fails the
            run if no participant is named, instead of choosing the one silent for longest.
    """
    return {"by_model": agent, **options}


def max_messages(most: int) -> Rule:
    """Return a termination after a number of messages."""
    return {"max_messages": most}


def max_rounds(most: int) -> Rule:
    """Return a termination after a number of messages for each participant, on average."""
    return {"max_rounds": most}


def keyword(word: str, *, by: str = "") -> Rule:
    """Return a termination by a word in the last message, perhaps only in that of one agent."""
    return {"keyword": word, "by": by} if by else {"keyword": word}


def any_of(*terminations: Rule) -> Rule:
    """Return a termination that holds if one of several does."""
    return {"any_of": list(terminations)}


def all_of(*terminations: Rule) -> Rule:
    """Return a termination that holds if all of several do."""
    return {"all_of": list(terminations)}


def _built(name: str, pattern: str, agents: AgentsLike, settings: dict[str, Any]) -> Workflow:
    names = dict(agents) if isinstance(agents, Mapping) else list(agents)
    return _extended(name, pattern, {"agents": names}, settings)


def _extended(name: str, pattern: str, given: dict[str, Any], settings: dict[str, Any]) -> Workflow:
    own = settings.keys() & PATTERNS[pattern].model_fields.keys()
    given = {**given, **{key: settings.pop(key) for key in own}}
    try:
        graph = expand(pattern, given)
    except ValueError as error:
        raise ConfigurationError(f"The workflow {name!r} {error}.") from None
    used = {node.get("function") for node in graph["nodes"]}
    executors = [one for one in _EXECUTORS if one.name in used]
    return Workflow(name, pattern=pattern, **settings).extend(graph, executors)
