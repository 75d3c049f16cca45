"""The tools that the agents of a workspace can be given, and which definition each name means now.

Usage::

    record_installed()             # at the start of a process: what its code and packages have
    tools = catalogue(workspace.pk)    # by name, without any of that code
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import F, Q

from heartbit_site.base.toolspec import Origin
from heartbit_site.base.untrusted import clean_text
from tools import definitions
from tools.models import CatalogueTool
from tools.registry import definition_hash, registry

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import ToolSpec

_LOCK = "LOCK TABLE tools_cataloguetool IN SHARE ROW EXCLUSIVE MODE"
_FACTS = ("definition_id", "origin", "source", "credentials")


def catalogue(workspace_id: int | None) -> dict[str, ToolSpec]:
    """Return the tools that agents of a workspace can be given, by name, sorted.

    A name means what the workspace's own row says; else the tool that this process has, since a
    program's own tools are in its process alone; else what the installation's row says.

    Args:
        workspace_id: None: what every workspace has.
    """
    rows = CatalogueTool.objects.filter(Q(workspace=None) | Q(workspace=workspace_id)).order_by(
        F("workspace").asc(nulls_first=True)
    )
    hashes: dict[str, str] = {}
    live: dict[str, ToolSpec] = dict(registry)
    for name, digest, enabled, owner in rows.values_list(
        "name", "definition_id", "enabled", "workspace_id"
    ):
        if owner is not None:
            live.pop(name, None)
        if not enabled:
            hashes.pop(name, None)
        elif name not in live:
            hashes[name] = digest
    stored = definitions.load(hashes.values())
    found = {name: stored[digest] for name, digest in hashes.items()} | live
    return dict(sorted(found.items()))


def record_installed() -> None:
    """Make the installation's part of the catalogue what this process has registered.

    A process that has no tools has no say in what there is. What a program registered for itself
    belongs to nobody else.
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
        with connection.cursor() as cursor:
            cursor.execute(_LOCK)  # processes of two releases may start at once
        definitions.store(changed)
        CatalogueTool.objects.bulk_create(
            [_row(spec.name, now[spec.name]) for spec in changed],
            update_conflicts=True,
            unique_fields=["workspace", "name"],
            update_fields=["definition", "origin", "source", "credentials"],
        )
        rows.exclude(name__in=now).delete()


def _facts(spec: ToolSpec) -> list[Any]:
    source = clean_text(spec.source)
    return [definition_hash(spec), spec.origin.value, source, list(spec.credentials)]


def _row(name: str, facts: list[Any]) -> CatalogueTool:
    return CatalogueTool(name=name, **dict(zip(_FACTS, facts, strict=True)))
