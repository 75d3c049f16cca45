"""Settings of a skill, and the archives and folders that strangers may have packed. Pure.

They are the front matter of ``SKILL.md``, the file of the open Agent Skills format
(https://agentskills.io/specification), and its body. A version's snapshot is derived from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from agents.definitions import validators
from agents.definitions.setting_types import SkillName, ToolName
from heartbit_site.base import archives
from heartbit_site.base.archives import ArchiveLimits, RefusedFilesError, pack
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.spec import Spec

MEGABYTE: Final = 1024 * 1024
#: Files of a skill beside ``SKILL.md``, and their sizes.
MAX_FILES: Final = 500
MAX_FILE_BYTES: Final = 4 * MEGABYTE
MAX_BYTES: Final = 8 * MEGABYTE
MAX_PATH: Final = 120  # characters: skills/NAME/ stands before it in a program's folder
MAIN_FILE: Final = "SKILL.md"

_Storable = AfterValidator(validators.storable)


class SkillSpec(Spec):
    """A skill, without its files."""

    name: SkillName = Field(description="Name of the skill and of its folder.")
    description: Annotated[str, Field(min_length=1, max_length=1024), _Storable] = Field(
        description="Purpose, and when to use it; every run's prompt contains it."
    )
    license: Annotated[str, Field(max_length=500), _Storable] = Field(
        "", description="Name of a licence, or of a file that has its text."
    )
    compatibility: Annotated[str, Field(max_length=500), _Storable] = Field(
        "", description="Requirements on its surroundings; for people."
    )
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=200), _Storable], Annotated[str, _Storable]],
        Field(max_length=50),
    ] = Field(default_factory=dict, description="Further texts, such as author and version.")
    allowed_tools: Annotated[list[ToolName], Field(max_length=100)] = Field(
        default_factory=list, description="Tools that an agent with this skill has to have."
    )
    body: Annotated[str, Field(min_length=1, max_length=100_000), _Storable] = Field(
        description="The instructions, in Markdown."
    )


#: Settings that are keys of the front matter.
FRONT_MATTER: Final = tuple(name for name in SkillSpec.model_fields if name != "body")


_SHOWN: Final = 5


class InvalidSkillError(ConfigurationError):
    """A skill cannot be used as it is.

    Attributes:
        faults: Sentences, each with the file or setting, what is wrong and how to mend it.
    """

    field = "archive"

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(dict.fromkeys(faults))
        shown = " ".join(self.faults[:_SHOWN])
        more = len(self.faults) - _SHOWN
        super().__init__(f"{shown} ({more} more faults)" if more > 0 else shown)


__all__ = ["MAX_ARCHIVE_BYTES", "MAX_ENTRIES", "pack", "read_path", "unpack"]

_LIMITS: Final = ArchiveLimits(files=MAX_FILES, file_bytes=MAX_FILE_BYTES, bytes=MAX_BYTES)
MAX_ARCHIVE_BYTES: Final = _LIMITS.archive_bytes
MAX_ENTRIES: Final = _LIMITS.entries


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip, tar or gzipped tar archive, by path.

    Raises:
        InvalidSkillError: It is none, or it has an entry that is not accepted, or too much.
    """
    with _as_faults():
        return archives.unpack(data, _LIMITS)


def read_path(path: Path) -> dict[str, bytes]:
    """Return the files of a folder or an archive on this machine.

    Raises:
        InvalidSkillError: A file of the folder is a link or none at all, or it is too much.
        OSError: It cannot be read.
    """
    with _as_faults():
        if path.is_dir():
            return archives.read_folder(path, _LIMITS)
    with path.open("rb") as stream:
        return unpack(stream.read(MAX_ARCHIVE_BYTES + 1))


@contextmanager
def _as_faults() -> Iterator[None]:
    try:
        yield
    except RefusedFilesError as error:
        raise InvalidSkillError([str(error)]) from error
