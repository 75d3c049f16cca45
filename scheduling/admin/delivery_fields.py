"""The delivery fields of a schedule's form: the targets that they show, and their changes.

The fields show the first e-mail, the first artifact and the available webhooks. Every other target,
and settings that the fields do not show, such as a subject, are unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

Target = dict[str, Any]


def shown_targets(targets: Sequence[Target], offered: Collection[int]) -> list[Target]:
    """Return the targets that the fields show; of webhooks, only available ones."""
    webhooks = [one for one in targets if one["kind"] == "webhook" and one["endpoint"] in offered]
    firsts = {one["kind"]: one for one in reversed(targets) if one["kind"] != "webhook"}
    return [*webhooks, *firsts.values()]


def changed_targets(
    targets: Sequence[Target], shown: Sequence[Target], given: Sequence[Target]
) -> list[Target]:
    """Return the targets in their order, with the shown ones replaced by those given.

    Args:
        targets: The stored ones.
        shown: The stored targets that the fields show.
        given: The fields' own: at most one e-mail and one artifact, and any number of webhooks.
    """
    left = list(given)
    found: list[Target] = []
    for target in targets:
        if target not in shown:
            found.append(target)
            continue
        new = next((one for one in left if _same_field(one, target)), None)
        if new is not None:
            left.remove(new)
            found.append({**target, **new})
    return found + left


def _same_field(one: Target, other: Target) -> bool:
    return one["kind"] == other["kind"] and one.get("endpoint") == other.get("endpoint")
