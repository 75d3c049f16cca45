"""Static files: built ones by their hashed names (``shell.assets``), others as they are."""

from __future__ import annotations

from typing import Any

from django.contrib.staticfiles.storage import StaticFilesStorage
from servestatic.middleware import ServeStaticMiddleware

from heartbit_site.shell.assets import names


class BuiltFiles(StaticFilesStorage):
    """The storage of static files; it writes none."""

    def url(self, name: str | None) -> str:
        """Return the address of a file."""
        return super().url(names().get(name or "", name or ""))


class ServeBuiltFiles(ServeStaticMiddleware):  # type: ignore[misc]  # servestatic has no types
    """Serves the files that are there at its start, so they are built first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        names()
        super().__init__(*arguments, **options)

    def immutable_file_test(self, path: str, url: str) -> bool:
        """Return True for a file that is named by its content, which browsers keep for years."""
        return url.startswith(f"{self.static_prefix}dist/")
