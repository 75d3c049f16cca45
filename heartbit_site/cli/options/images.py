"""`--image FILE`: pictures beside a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heartbit_site.base.pdf_pages import is_pdf, pictures_in
from heartbit_site.base.pictures import (
    MOST_BYTES,
    MOST_PICTURES,
    Picture,
    PictureError,
    require_kind,
)


def images_of(paths: Sequence[Path]) -> list[bytes]:
    """Return the files of pictures, which are looked at no further than their first bytes.

    Raises:
        PictureError: There are too many, or one cannot be read, is too large or no picture.
    """
    if len(paths) > MOST_PICTURES:
        raise PictureError(f"A task has at most {MOST_PICTURES} pictures: leave some out.")
    return [_content(path) for path in paths]


def pictures_of(paths: Sequence[Path]) -> list[Picture]:
    """Return pictures re-encoded, and the pages of PDFs, for a run of this process.

    Raises:
        PictureError: As ``images_of``, or one is damaged.
    """
    contents = zip(images_of(paths), paths, strict=True)
    return [one for content, path in contents for one in pictures_in(content, str(path))]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PictureError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not is_pdf(data):
        require_kind(data, str(path))
    return data
