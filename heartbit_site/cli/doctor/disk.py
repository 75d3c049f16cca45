"""The check of disks: space for new files where Heartbit writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from heartbit_site.base import variables
from heartbit_site.cli.doctor.check import Check

LITTLE_BYTES: Final = 1_000_000_000
LEAST_BYTES: Final = 100_000_000
LEAST_FILES: Final = 1000
FIX: Final = (
    "Free space there, or let another disk have it (HEARTBIT_STATE_DIR, _ARCHIVE_DIR, _DRIVE)."
)


def check_disks(state: Path) -> Check:
    """Check the disks of the state directory, the archive, agents' files and temporary files."""
    archive, drive = variables.ARCHIVE_DIR.read(), variables.DRIVE.read()
    places = (state, Path(archive or state), Path(drive or state), Path(tempfile.gettempdir()))
    checks = [_check(place) for place in _one_a_disk(map(_there, places))]
    order = {"fail": 0, "warn": 1, "ok": 2}
    return min(checks, key=lambda check: order[check.status])


def _there(path: Path) -> Path:
    """Return the path, or the closest parent that exists: a directory is made when it is needed."""
    return next(place for place in (path, *path.parents) if place.exists())


def _one_a_disk(places: Iterable[Path]) -> list[Path]:
    disks: dict[int, Path] = {}
    for place in places:
        disks.setdefault(place.stat().st_dev, place)
    return list(disks.values())


def _check(place: Path) -> Check:
    found = os.statvfs(place)
    free = found.f_bavail * found.f_frsize
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if found.f_files and found.f_favail < LEAST_FILES:  # some file systems do not count them
        return Check("disk", "fail", f"{found.f_favail} more files fit at {place}", FIX)
    if free < LEAST_BYTES:
        return Check("disk", "fail", detail, FIX)
    return (
        Check("disk", "warn", detail, FIX) if free < LITTLE_BYTES else Check("disk", "ok", detail)
    )
