"""Limits of the folder that a run tree works in. Pure."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.archives import MEGABYTE, ArchiveLimits

MAX_FILES: Final = 2_000
MAX_FILE_BYTES: Final = 4 * MEGABYTE
MAX_BYTES: Final = 32 * MEGABYTE
#: Limit on all versions of all files together, which are kept because a fork may begin at any turn.
MAX_HISTORY_BYTES: Final = 256 * MEGABYTE
#: Limit on an archive or a folder that a person gives to a run.
LIMITS: Final = ArchiveLimits(files=MAX_FILES, file_bytes=MAX_FILE_BYTES, bytes=MAX_BYTES)
