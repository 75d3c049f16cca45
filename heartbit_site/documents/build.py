"""The documentation site, built of ``docs`` by Sphinx: ``make docs``, and when the wheel is made.

Without Django, whose settings an installation does not have. The site asks no other host for
anything, and needs no inline script or style, so Heartbit's content security policy holds for it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from heartbit_site.base.installation import CHECKOUT, PACKAGE
from heartbit_site.documents.sources import with_contents, write_sources

#: A wheel carries inside the package what a checkout has beside it.
INSTALLED: Final = PACKAGE / "documents/site"
SITE: Final = CHECKOUT / "build/docs" if CHECKOUT else INSTALLED
_INLINE: Final = re.compile(r"<(script|style)>([^<]*)</(?:script|style)>")
_ROOT: Final = re.compile(r'data-content_root="([^"]+)"')
_STYLE: Final = re.compile(r' style="(opacity|display): ?([\w.%]+);?"')
_PICTURE: Final = re.compile(r"\]\((?:\.\./)*images/")
#: For keyboards and readers of screens: what scrolls has the focus, a caption its level.
_MENDED: Final = (
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
)
#: What readers of the site do not need.
_LEFT_OUT: Final = ("*.map", "*.LICENSE.txt", "debug.css", ".buildinfo", "_sources", "file.png")
SUMMARY: Final = """# Heartbit

> A durable multi-agent runtime on Django, Celery and PostgreSQL: agents whose runs survive crashes,
> wait for people without holding a worker, and start on schedules.

Each page is Markdown at its address here, and HTML with `.html` in the place of `.md`.
"""


def build(repository: Path) -> None:
    """Build the site from a checkout's documents.

    Raises:
        SystemExit: Sphinx warned; it has said of what.
    """
    from sphinx.cmd.build import build_main  # noqa: PLC0415  only a build needs it

    SITE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SITE.parent, prefix=".docs-") as directory:
        sources, site = Path(directory) / "sources", Path(directory) / "site"
        pages = write_sources(repository, sources)
        texts = {page: (sources / page).read_text() for page in pages}
        for page in pages:
            if page.endswith("README.md"):
                (sources / page).write_text(with_contents(texts[page]))
        options = ("-q", "-W", "--keep-going", "-b", "html", "-d", f"{directory}/doctrees")
        if build_main([*options, str(sources), str(site)]):
            raise SystemExit("The documentation has problems: they are listed above.")
        for path in site.rglob("*.html"):
            path.write_text(_without_inline(path.read_text(), site / "_static"))
        for page, text in texts.items():
            pictures = "](" + "../" * page.count("/") + "_images/"
            (site / page).write_text(_PICTURE.sub(pictures, text))
        files = shutil.ignore_patterns("*.md")  # which are pages, and there
        shutil.copytree(sources / "examples", site / "examples", ignore=files, dirs_exist_ok=True)
        (site / "llms.txt").write_text(f"{SUMMARY}\n{_listed(texts['README.md'])}")
        for pattern in _LEFT_OUT:
            for path in list(site.rglob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(SITE, ignore_errors=True)
        site.rename(SITE)


def _without_inline(text: str, static: Path) -> str:
    """Return a page whose scripts and styles are files."""

    def moved(found: re.Match[str]) -> str:
        kind, content = found.groups()
        ending = "js" if kind == "script" else "css"
        name = f"{hashlib.blake2b(content.encode(), digest_size=6).hexdigest()}.{ending}"
        (static / name).write_text(content)
        address = f"{root}_static/{name}"
        if kind == "script":
            return f'<script src="{address}"></script>'
        return f'<link rel="stylesheet" href="{address}">'

    [root] = _ROOT.findall(text)
    for before, after in _MENDED:
        text = text.replace(before, after)
    return _STYLE.sub(r' \1="\2"', _INLINE.sub(moved, text))


def _listed(text: str) -> str:
    """Return the contents of the site's first page, from its first heading on."""
    return text[text.index("## ") :]


if __name__ == "__main__":
    if CHECKOUT is None:
        sys.exit("The sources of the documentation are in a checkout only.")
    build(CHECKOUT)
