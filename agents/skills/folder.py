"""Folders of skills: their files are checked and read. Pure.

Usage::

    folder = read_folder({"SKILL.md": b"...", "references/terms.md": b"..."})
    folder.spec.description
    folder.files       # without SKILL.md, which folder.spec has
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from agents.skills import front_matter, older_format
from agents.skills.archive import InvalidSkillError, read_path
from agents.skills.spec import MAIN_FILE, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_PATH, SkillSpec
from heartbit_site.base.archives import is_litter
from tools.sandbox.folder import name_problem

_MAIN_FILES: Final = (MAIN_FILE, older_format.MAIN_FILE)


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A skill with its files.

    Attributes:
        spec: The skill.
        files: Content by path; ``SKILL.md`` is not among them.
        note: Sentence on keys that are kept as metadata; empty: there are none.
    """

    spec: SkillSpec
    files: Mapping[str, bytes]
    note: str = ""


def read_folder(files: Mapping[str, bytes]) -> SkillFolder:
    """Return the skill of a folder, in the open format or the older one.

    Args:
        files: Content by path. The skill may be in a folder of its own among them, as it is in
            archives.

    Raises:
        InvalidSkillError: Names each fault.
    """
    inside = _inside(files)
    faults = list(_faults(inside))
    try:
        skill = _skill(inside)
    except InvalidSkillError as error:
        raise InvalidSkillError([*faults, *error.faults]) from error
    if faults:
        raise InvalidSkillError(faults)
    return skill


def _skill(inside: Mapping[str, bytes]) -> SkillFolder:
    if MAIN_FILE not in inside:
        return SkillFolder(*older_format.convert(inside))
    spec, note = front_matter.read(front_matter.decode(inside, MAIN_FILE))
    others = {path: inside[path] for path in sorted(inside) if path != MAIN_FILE}
    return SkillFolder(spec, others, note)


def _inside(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of the folder that has the skill, by their paths in it."""
    kept = {path.removeprefix("./"): data for path, data in files.items() if not is_litter(path)}
    roots = {PurePosixPath(path).parent for path in kept if path.endswith(_MAIN_FILES)}
    roots = {root for root in roots if not any(other in root.parents for other in roots)}
    mains = [str(root / name) for root in roots for name in _MAIN_FILES]
    if not any(main in kept for main in mains):
        near = next((path for path in kept if path.lower().endswith("skill.md")), "")
        hint = f" Rename {near[:MAX_PATH]} to {MAIN_FILE}." if near else ""
        raise InvalidSkillError(
            [f"There is no {MAIN_FILE} in it: a skill is a folder with a file of that name.{hint}"]
        )
    if len(roots) > 1:
        names = ", ".join(sorted(str(root)[:MAX_PATH] for root in roots)[:5])
        raise InvalidSkillError([f"There are several skills in it ({names}): add one at a time."])
    prefix = "" if (root := str(*roots)) == "." else f"{root}/"
    beside = sorted(path for path in kept if not path.startswith(prefix))
    if beside:
        raise InvalidSkillError(
            [
                f"{beside[0][:MAX_PATH]} is not in the skill's folder, {root[:MAX_PATH]}: pack "
                "that folder alone."
            ]
        )
    return {path.removeprefix(prefix): data for path, data in kept.items()}


def _faults(files: Mapping[str, bytes]) -> Iterator[str]:
    if len(files) > MAX_FILES:
        yield f"There are {len(files)} files in it: leave at most {MAX_FILES}."
        return
    for path, data in sorted(files.items()):
        if len(path) > MAX_PATH:
            yield f"{path[:MAX_PATH]}... is a path of more than {MAX_PATH} characters: shorten it."
        elif problem := name_problem(path):
            yield f"{path!r} {problem}: rename it."
        if len(data) > MAX_FILE_BYTES:
            yield f"{path[:MAX_PATH]} has more than {MAX_FILE_BYTES} bytes: make it smaller."
    if sum(map(len, files.values())) > MAX_BYTES:
        yield f"Its files have more than {MAX_BYTES} bytes together: leave some out."


_FOLDER: Final = Path(__file__).with_name("shipped")


@cache
def shipped_skills() -> tuple[SkillFolder, ...]:
    """Return the shipped skills, by name."""
    folders = sorted(path for path in _FOLDER.iterdir() if path.is_dir())
    return tuple(read_folder(read_path(path)) for path in folders)
