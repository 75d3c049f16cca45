"""The kept installations: one backup of each release, compressed."""

from __future__ import annotations

import gzip
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.backup.manifest import NAME, Manifest, read_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE: Final = Path(__file__).parent
KEPT: Final = HERE / "releases"
DEFINITIONS: Final = HERE / "workspace.toml"
#: Everyone knows them: they encrypt nothing but the made-up key of the kept installations.
KEYS: Final[Mapping[str, str]] = {
    "HEARTBIT_SECRET_KEY": "upgrades",
    "HEARTBIT_ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
}
MOST_BYTES: Final = 300_000


def kept() -> list[Path]:
    """The kept installations, the oldest first."""
    return sorted(KEPT.glob("*.tar.gz"), key=lambda path: version_of(path).split("."))


def version_of(path: Path) -> str:
    """The release that a kept installation is of."""
    return path.name.removesuffix(".tar.gz")


def unpack(path: Path, target: Path) -> None:
    """Write the backup that `heartbit restore` takes."""
    with gzip.open(path) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)


def manifest_of(path: Path) -> Manifest:
    """The manifest of a kept installation."""
    with tarfile.open(path) as file:
        member = file.extractfile(NAME)
        assert member is not None
        return read_manifest(member.read(), path.name)
