"""The pages of the reference, by their file: each is written from the code that it describes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.reference import cli, errors, events, metrics, rest, settings, toml, tools, workflows

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTORY: Final = Path(__file__).parents[2] / "docs/reference"
PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli.md": cli.page,
    "errors.md": errors.page,
    "events.md": events.page,
    "metrics.md": metrics.page,
    "rest.md": rest.page,
    "rest-objects.md": rest.objects,
    "settings.md": settings.page,
    "toml.md": toml.page,
    "tools.md": tools.page,
    "workflows.md": workflows.page,
}
_NOTE: Final = "\n<!-- Written by `make reference` from the code: change it there. -->\n"


def written() -> dict[str, str]:
    """Return the text of each page."""
    texts = {name: page() for name, page in PAGES.items()}
    return {name: text.replace("\n", _NOTE, 1).rstrip() + "\n" for name, text in texts.items()}
