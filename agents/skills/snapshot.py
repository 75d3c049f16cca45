"""Snapshots of skills' versions: canonical JSON of a skill and of its files' hashes. Pure.

A skill's snapshot is hashed as an agent's is (``agents.definitions.snapshot``), and compared with
the same parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from agents.definitions.snapshot import digest
from agents.definitions.snapshot_diff import FieldChangeOut, changed_fields, text_diff
from agents.skills.spec import FRONT_MATTER, MAX_PATH, SkillSpec
from heartbit_site.base.view import View

if TYPE_CHECKING:
    from agents.skills.folder import SkillFolder

FORMAT: Final = 1
_MAX_DIFF_BYTES: Final = 200_000

__all__ = ["SkillDiff", "compare", "digest", "hash_of", "spec_of", "write"]


class FileChangeOut(View):
    """A file that came, went or changed."""

    path: str
    kind: Literal["added", "removed", "changed"]
    diff: str = Field(description="A unified diff; empty: not a text, or too long.")


class SkillDiff(View):
    """All differences between two versions of a skill."""

    body: str = Field(description="A unified diff of the instructions; empty: no change.")
    fields: list[FieldChangeOut]
    files: list[FileChangeOut]

    def __bool__(self) -> bool:
        """Return True if anything changed."""
        return bool(self.body or self.fields or self.files)


def write(folder: SkillFolder) -> dict[str, Any]:
    """Return the snapshot of a skill."""
    files = [
        {"path": path, "hash": hash_of(data), "size": len(data)}
        for path, data in sorted(folder.files.items())
    ]
    return {"format": FORMAT, **folder.spec.model_dump(), "files": files}


def spec_of(snapshot: Mapping[str, Any]) -> SkillSpec:
    """Return the skill in a snapshot; it was valid when it was stored, so it is not checked."""
    known = {name: snapshot[name] for name in SkillSpec.model_fields if name in snapshot}
    return SkillSpec.model_construct(**known)


def hash_of(content: bytes) -> str:
    """Return the SHA-256 by which a file is stored."""
    return hashlib.sha256(content).hexdigest()


def compare(
    before: Mapping[str, Any], after: Mapping[str, Any], read: Callable[[str], bytes]
) -> SkillDiff:
    """Return the differences between two snapshots.

    Args:
        before: The earlier snapshot.
        after: The later snapshot.
        read: Returns the content of a file by its hash.
    """
    old, new = ({file["path"]: file for file in side["files"]} for side in (before, after))
    files = [
        _file_change(path, old.get(path), new.get(path), read)
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]
    settings = [{name: side.get(name) for name in FRONT_MATTER} for side in (before, after)]
    return SkillDiff(
        body=text_diff(before["body"], after["body"]),
        fields=changed_fields(settings[0], settings[1], {}),
        files=files,
    )


def _file_change(
    path: str,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
    read: Callable[[str], bytes],
) -> FileChangeOut:
    kind: Literal["added", "removed", "changed"] = "changed"
    if old is None or new is None:
        kind = "added" if old is None else "removed"
    sides = [old, new]
    if any(side is not None and side["size"] > _MAX_DIFF_BYTES for side in sides):
        return FileChangeOut(path=path, kind=kind, diff="")
    try:
        texts = ["" if side is None else read(side["hash"]).decode() for side in sides]
    except UnicodeDecodeError:
        return FileChangeOut(path=path, kind=kind, diff="")
    return FileChangeOut(path=path[:MAX_PATH], kind=kind, diff=text_diff(texts[0], texts[1]))
