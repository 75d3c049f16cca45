"""Pages of the documentation site as Sphinx reads them: those of ``docs``, and the project's own.

A page is written for readers of the repository too. What differs on the site is changed here: links
to documents above ``docs`` lead to their copies in ``project``, other files of the repository are
named instead of linked, and each README's headings become a part of the site's contents.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path, PurePosixPath
from posixpath import relpath
from typing import Final

#: Documents above `docs`, by their page of the site.
PROJECT: Final = {
    "project/changelog.md": "CHANGELOG.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/security.md": "SECURITY.md",
}
_LINK: Final = re.compile(r"(?<!!)\[([^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
#: A drawing that only GitHub makes: the site has the picture of its name.
_DRAWING: Final = re.compile(r"^```mermaid\n.*?^```$", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)


def write_sources(repository: Path, place: Path) -> list[str]:
    """Write the pages below `place`, and return their names, such as `howto/web.md`."""
    docs = repository / "docs"
    shutil.copytree(docs, place, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "project").mkdir()
    origins = {page.relative_to(docs).as_posix(): page for page in sorted(docs.rglob("*.md"))}
    origins |= {name: repository / document for name, document in PROJECT.items()}
    pages = {origin: name for name, origin in origins.items()}
    pages[repository / "README.md"] = "README.md"
    for name, origin in origins.items():
        text = _relink(origin.read_text(), origin, name, pages, repository)
        (place / name).write_text(text)
    return list(origins)


def with_contents(text: str) -> str:
    """Return a README with its links as parts of the contents, one a heading."""
    parts = _HEADING.split(text)
    found = [text]
    for caption, part in zip(parts[1::2], parts[2::2], strict=True):
        pages = [link[2].removesuffix(".md") for link in _LINK.finditer(part)]
        here = dict.fromkeys(page for page in pages if not page.startswith("../"))
        found.append(
            f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(here) + "\n```\n"
        )
    return "\n".join(found)


def _relink(text: str, origin: Path, name: str, pages: dict[Path, str], repository: Path) -> str:
    def changed(link: re.Match[str]) -> str:
        target = (origin.parent / link[2]).resolve()
        page = pages.get(target) or pages.get(target / "README.md")
        if page:
            return f"[{link[1]}]({relpath(page, PurePosixPath(name).parent)}{link[3] or ''})"
        if target.is_relative_to(repository / "docs"):
            return link[0]
        path = f"`{PurePosixPath(target.relative_to(repository))}`"
        return link[1] if path in link[1] else f"{link[1]} ({path})"

    picture = f"![{origin.stem}](../images/{origin.stem}.svg)"
    return _LINK.sub(changed, _DRAWING.sub(picture, text))
