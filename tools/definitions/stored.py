"""Definitions of tools by hash, stored once for processes that lack the tool's code.

Definitions are immutable, so a process reads each row once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Effect, ToolSpec
from tools.definitions.registry import definition_hash, registry
from tools.models import ToolDefinition

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
    )
