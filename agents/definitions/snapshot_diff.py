"""Differences between two snapshots of a definition. Pure.

Usage::

    found = compare(older.snapshot, newer.snapshot)
    found.model_dump()   # for machines
    found.sentence()     # "model openai:a -> openai:b; tool http_get removed"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from agents.definitions.kinds import kind_in, readable_kind
from agents.definitions.snapshot import pins_of
from agents.definitions.spec import ToolGrant
from heartbit_site.base.line_diff import line_diff
from heartbit_site.base.spec import Spec
from heartbit_site.base.view import View

_APART = ("format", "kind", "system_prompt", "tools", "team", "skills")  # compared separately
_EMPTY: tuple[Any, ...] = ("", None, [], {})
_SHOWN = 60


class FieldChangeOut(View):
    """A setting that changed."""

    name: str
    before: Any
    after: Any


class PartChangeOut(View):
    """A tool or team member that was added, removed or changed."""

    name: str
    kind: Literal["added", "removed", "changed"]
    definition: bool = Field(description="True if the definition that the model reads changed.")
    fields: list[FieldChangeOut]


class SnapshotDiff(View):
    """All differences between two snapshots."""

    prompt: str = Field(description="A unified diff; empty: no change.")
    fields: list[FieldChangeOut]
    tools: list[PartChangeOut]
    team: list[PartChangeOut]
    skills: list[PartChangeOut] = Field(default_factory=list)

    def __bool__(self) -> bool:
        """Return True if anything changed."""
        return bool(self.prompt or self.fields or self.tools or self.team or self.skills)

    def sentence(self) -> str:
        """Return a one-line summary, without the prompt's text."""
        said = ["the system prompt"] if self.prompt else []
        said += [f"{c.name} {_short(c.before)} -> {_short(c.after)}" for c in self.fields]
        said += [_part("tool", change) for change in self.tools]
        said += [_part("team member", change) for change in self.team]
        said += [_part("skill", change) for change in self.skills]
        return "; ".join(said)


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> SnapshotDiff:
    """Return the differences, ignoring the snapshots' format."""
    return SnapshotDiff(
        prompt=text_diff(before.get("system_prompt", ""), after.get("system_prompt", "")),
        fields=changed_fields(
            _settings(before), _settings(after), _implied(readable_kind(kind_in(after)).spec)
        ),
        tools=_parts(before["tools"], after["tools"], definition="hash"),
        team=_parts(before["team"], after["team"], definition="description"),
        skills=_parts(before.get("skills", ()), after.get("skills", ()), definition="hash"),
    )


def _settings(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_flat({k: v for k, v in snapshot.items() if k not in _APART}))


def _implied(model: type[Spec]) -> dict[str, Any]:
    """Return the non-empty defaults of settings that a snapshot lacks, by dotted name."""
    kept = {
        ".".join(filter(None, (pin.group, pin.name or name))): model.default_of(name)
        for name, pin in pins_of(model).items()
        if name not in _APART
    }
    return {name: value for name, value in _flat(kept) if value not in _EMPTY}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by dotted name; a schema is one value, since its parts mean nothing alone."""
    for name, value in values.items():
        if isinstance(value, dict) and name != "response_schema":
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def changed_fields(
    before: Mapping[str, Any], after: Mapping[str, Any], implied: Mapping[str, Any]
) -> list[FieldChangeOut]:
    """Return the settings that differ.

    Args:
        before: Values by name.
        after: Values by name.
        implied: Defaults of settings that one side lacks.
    """
    found = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = (side.get(name, implied.get(name)) for side in (before, after))
        if old != new and not (old in _EMPTY and new in _EMPTY):
            found.append(FieldChangeOut(name=name, before=old, after=new))
    return found


def _parts(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], *, definition: str
) -> list[PartChangeOut]:
    old = {part["name"]: part for part in before}
    new = {part["name"]: part for part in after}
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new or name not in old:
            kind: Literal["added", "removed"] = "added" if name in new else "removed"
            found.append(PartChangeOut(name=name, kind=kind, definition=False, fields=[]))
        elif old[name] != new[name]:
            defined = old[name].get(definition) != new[name].get(definition)
            implied = _implied(ToolGrant) if definition == "hash" else {}
            settings = changed_fields(
                _rest(old[name], definition), _rest(new[name], definition), implied
            )
            if defined or settings:
                found.append(
                    PartChangeOut(name=name, kind="changed", definition=defined, fields=settings)
                )
    return found


def _rest(part: Mapping[str, Any], definition: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in ("name", definition)}


def text_diff(before: str, after: str) -> str:
    """Return a unified diff of two texts, without its header."""
    return "\n".join(line_diff(before.splitlines(), after.splitlines(), context=3))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _part(noun: str, change: PartChangeOut) -> str:
    if change.kind != "changed":
        return f"{noun} {change.name} {change.kind}"
    what = ["its definition"] if change.definition else []
    what += [f"{f.name} {_short(f.before)} -> {_short(f.after)}" for f in change.fields]
    return f"{noun} {change.name}: {', '.join(what)}"
