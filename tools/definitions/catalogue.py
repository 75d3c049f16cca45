"""Catalogue of the tools available to a workspace's agents, with their current definitions.

Usage::

    record_installed()             # at the start of a process: tools of its code and packages
    tools = catalogue(workspace.pk)    # by name, without that code
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from heartbit_site.base.credentials import CredentialNeed
from heartbit_site.base.query import execute
from heartbit_site.base.toolspec import Label, Origin, ToolSpec
from heartbit_site.base.untrusted import clean_text
from tools.definitions import stored as definitions
from tools.definitions.registry import definition_hash, registry
from tools.models import CatalogueTool

_LOCK = "LOCK TABLE tools_cataloguetool IN SHARE ROW EXCLUSIVE MODE"
_FACTS = ("definition_id", "origin", "source", "credentials", "labels")


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
    stored = definitions.load(digest for digest, *_ in facts.values())
    specs = {name: _described(stored[digest], *more) for name, (digest, *more) in facts.items()}
    return dict(sorted((specs | live).items()))


def _described(
    spec: ToolSpec, origin: str, source: str, needs: list[dict[str, Any]], labels: list[str]
) -> ToolSpec:
    """Return a stored definition with the catalogue's facts about the tool."""
    return replace(
        spec,
        origin=Origin(origin) if origin in set(Origin) else spec.origin,
        source=source,
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
        definitions.store(changed)
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
    return [definition_hash(spec), spec.origin.value, source, needs, sorted(spec.labels)]
