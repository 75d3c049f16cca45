"""Catalogue of the tools available to a workspace's agents, with their stored definitions.

Definitions are stored by hash for processes that lack the tool's code. They are immutable, so a
process reads each row once.

Usage::

    record_installed()             # at the start of a process: tools of its code and packages
    tools = catalogue(workspace.pk)    # by name, without that code
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NoReturn

from django.db import transaction
from django.db.models import F, Q

from heartbit_site.base.credentials import CredentialNeed
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.query import execute
from heartbit_site.base.toolspec import Effect, Label, Origin, ToolSpec
from heartbit_site.base.untrusted import clean_text
from tools.definitions.registry import definition_hash, registry
from tools.models import CatalogueTool, ToolDefinition

_KEEP: Final = 2_000
_known: dict[str, ToolSpec] = {}


class ToolNotHereError(HeartbitError):
    """A tool was called in a process that has only its definition."""


def store(specs: Iterable[ToolSpec]) -> None:
    """Store the definitions of tools; existing rows stay unchanged."""
    rows = [
        ToolDefinition(
            hash=definition_hash(spec),
            name=spec.name,
            description=spec.description,
            parameters=json.dumps(dict(spec.parameters)),
            effect=spec.effect.value,
            answer_parameter=spec.answer_parameter or "",
            request=None if spec.request is None else dict(spec.request),
        )
        for spec in specs
    ]
    # Sorted, so that two processes that store the same rows cannot deadlock.
    ToolDefinition.objects.bulk_create(
        sorted(rows, key=lambda row: row.hash), ignore_conflicts=True
    )


def find(name: str, digest: str) -> ToolSpec | None:
    """Return the tool with this definition, or None if it is not stored.

    If this process does not have the tool, the result can be shown and read but not called; its
    parameter types are only those of the schema.
    """
    live = registry.get(name)
    if live is not None and definition_hash(live) == digest:
        return live
    return load([digest]).get(digest)


def load(digests: Iterable[str]) -> dict[str, ToolSpec]:
    """Return stored definitions by hash, as tools that can be shown but not called."""
    wanted = dict.fromkeys(digests)
    missing = [digest for digest in wanted if digest not in _known]
    rows = ToolDefinition.objects.filter(pk__in=missing)  # no query if none is missing
    read = {row.hash: _spec_of(row) for row in rows}
    found = {digest: spec for digest in wanted if (spec := read.get(digest) or _known.get(digest))}
    if len(_known) + len(read) > _KEEP:
        _known.clear()
    _known.update(read)
    return found


def _spec_of(row: ToolDefinition) -> ToolSpec:
    def not_here(**_arguments: Any) -> NoReturn:
        raise ToolNotHereError(
            f"This process cannot call the tool {row.name}: it lacks the tool's code."
        )

    return ToolSpec(
        name=row.name,
        description=row.description,
        parameters=json.loads(row.parameters),
        function=not_here,
        effect=Effect(row.effect),
        answer_parameter=row.answer_parameter or None,
        request=row.request,
    )


_LOCK = "LOCK TABLE tools_cataloguetool IN SHARE ROW EXCLUSIVE MODE"
_FACTS = ("definition_id", "origin", "source", "credentials", "labels", "summary")


def catalogue(workspace_id: int | None) -> dict[str, ToolSpec]:
    """Return the tools available to a workspace's agents, by name, sorted.

    A name means the workspace's own row; else the tool registered in this process, because a
    program's own tools are in its process alone; else the installation's row.

    Args:
        workspace_id: Id of the workspace; None: tools available to every workspace.
    """
    rows = (
        CatalogueTool.objects.filter(Q(workspace=None) | Q(workspace=workspace_id))
        .filter(Q(server=None) | Q(server__enabled=True))
        .order_by(F("workspace").asc(nulls_first=True))
    )
    facts: dict[str, tuple[Any, ...]] = {}
    live: dict[str, ToolSpec] = dict(registry)
    for name, enabled, owner, *found in rows.values_list(
        "name", "enabled", "workspace_id", *_FACTS
    ):
        if owner is not None:
            live.pop(name, None)
        if not enabled:
            facts.pop(name, None)
        elif name not in live:
            facts[name] = tuple(found)
    stored = load(digest for digest, *_ in facts.values())
    specs = {name: _described(stored[digest], *more) for name, (digest, *more) in facts.items()}
    return dict(sorted((specs | live).items()))


def _described(
    spec: ToolSpec,
    origin: str,
    source: str,
    needs: list[dict[str, Any]],
    labels: list[str],
    summary: str,
) -> ToolSpec:
    """Return a stored definition with the catalogue's facts about the tool."""
    return replace(
        spec,
        origin=Origin(origin) if origin in set(Origin) else spec.origin,
        source=source,
        summary=summary,
        credentials=tuple(
            CredentialNeed(need["parameter"], tuple(need["kinds"]), need["optional"])
            for need in needs
        ),
        labels=frozenset(label for label in Label if label in labels),
    )


def record_installed() -> None:
    """Synchronise the installation's catalogue with this process's registry.

    A process without tools changes nothing. Tools that a program registered for itself are not
    recorded.
    """
    specs = [spec for spec in registry.values() if spec.origin is not Origin.PROGRAM]
    if not specs:
        return
    rows = CatalogueTool.objects.filter(workspace=None)
    before = {name: facts for name, *facts in rows.values_list("name", *_FACTS)}
    now = {spec.name: _facts(spec) for spec in specs}
    changed = [spec for spec in specs if before.get(spec.name) != now[spec.name]]
    if not changed and before.keys() == now.keys():
        return
    with transaction.atomic():
        execute(_LOCK)  # processes of two releases may start at once
        store(changed)
        CatalogueTool.objects.bulk_create(
            [
                CatalogueTool(name=spec.name, **dict(zip(_FACTS, now[spec.name], strict=True)))
                for spec in changed
            ],
            update_conflicts=True,
            unique_fields=["workspace", "name"],
            update_fields=_FACTS,
        )
        rows.exclude(name__in=now).delete()


def _facts(spec: ToolSpec) -> list[Any]:
    source = clean_text(spec.source)
    needs = [
        {"parameter": need.parameter, "kinds": list(need.kinds), "optional": need.optional}
        for need in spec.credentials
    ]
    digest = definition_hash(spec)
    return [digest, spec.origin.value, source, needs, sorted(spec.labels), spec.summary]
