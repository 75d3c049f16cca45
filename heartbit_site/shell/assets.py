"""Styles, scripts and fonts of the pages, as browsers get them: joined, small, hashed, compressed.

``build`` writes them into ``heartbit_site/static/dist`` with a manifest, when Heartbit is installed
(``hatch_hook``); ``names`` does it again in a checkout whose sources have changed. Without
Django, whose settings an installation does not have.

A page loads one style sheet of its kind, its own small one, one script, and three fonts.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from heartbit_site.base.installation import CHECKOUT, PACKAGE, STATIC, TEMPLATES, directory_of
from heartbit_site.shell.modules import join_modules

DIST: Final = STATIC / "dist"
MANIFEST: Final = DIST / "manifest.json"
OWN: Final = STATIC / "heartbit"
THEME: Final = directory_of("unfold") / "static" / "unfold"
_INTER: Final = THEME / "fonts" / "inter"
_SYMBOLS: Final = THEME / "fonts" / "material-symbols" / "Material-Symbols-Outlined.woff2"
#: The theme's scripts, in the order in which they need each other.
_OF_THEME: Final = (
    "htmx/htmx",
    "app",
    "alpine/alpine.anchor",
    "alpine/alpine.persist",
    "alpine/alpine.resize",
    "alpine/alpine",
)
#: Django's for forms and lists.
DJANGO: Final = directory_of("django") / "contrib" / "admin" / "static" / "admin" / "js"
_OF_DJANGO: Final = (
    "vendor/jquery/jquery.min",
    "jquery.init",
    "core",
    "admin/RelatedObjectLookups",
    "actions",
    "inlines",
    "SelectBox",
    "SelectFilter2",
)
#: SelectFilter2 names the sign of its filter, which no element without a role may have.
_NAMED_SIGN: Final = (b"search-label-icon',", b"search-label-icon', 'role', 'img',")
#: What pages need not load beside `admin-scripts.js`.
JOINED: Final = frozenset(f"admin/js/{one}.js" for one in (*_OF_DJANGO, "vendor/jquery/jquery"))
#: And these without a field that is filled in from another.
OF_SLUGS: Final = frozenset(
    f"admin/js/{one}.js"
    for one in ("urlify", "prepopulate", "vendor/xregexp/xregexp", "vendor/xregexp/xregexp.min")
)
_SHEETS: Final = {
    "work.css": ("web/theme.css", "web/parts.css", "web/approvals/card.css"),
    "admin-pages.css": ("web/theme.css", "web/parts.css", "unfold", "admin.css", "web/drawing.css"),
}
_IMPORT: Final = re.compile(r'@import (?:url\()?"([^"]+)"\)?;')
_BESIDE: Final = re.compile(r'(?:from|import) "\./([\w-]+\.js)"')
_OF_ICONS: Final = re.compile(r"icon|symbol|opens\(|_small|Place\(|_listed\(|Listing\(")
_WORD: Final = re.compile(r"[a-z][a-z0-9_]+")
#: Symbols that the theme's style sheet writes itself.
_WRITTEN: Final = re.compile(r'content:"([a-z][a-z0-9_]+)"')
_COMPRESSED: Final = {".css", ".js", ".svg", ".json"}


@dataclass(slots=True)
class Dist:
    """Files of a build.

    Attributes:
        names: By the name that templates use, the file's name below ``static``.
    """

    place: Path
    names: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, content: bytes) -> str:
        """Write a file under its hashed name, compressed too, and return that name."""
        stem, _, ending = name.removeprefix("heartbit/").rpartition(".")
        digest = hashlib.blake2b(content, digest_size=6).hexdigest()
        path = f"{stem.replace('/', '-')}.{digest}.{ending}"
        (self.place / path).write_bytes(content)
        if f".{ending}" in _COMPRESSED:
            _compress(self.place / path, content)
        self.names[name] = f"dist/{path}"
        return f"dist/{path}"


def build(place: Path = DIST) -> dict[str, str]:
    """Write all files, and return their names by those that templates use."""
    place.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".dist-") as directory:
        dist = Dist(Path(directory))
        faces = _fonts(dist)
        for name, parts in _SHEETS.items():
            text = "\n".join([faces, *(_sheet(part) for part in parts)])
            dist.add(f"heartbit/{name}", text.encode())
        for path in sorted(OWN.rglob("*.css")):
            sheet = path.relative_to(OWN).as_posix()
            dist.add(f"heartbit/{sheet}", _sheet(sheet).encode())
        dist.add("heartbit/admin-theme.js", _joined(THEME / "js", _OF_THEME))
        dist.add("heartbit/admin-scripts.js", _joined(DJANGO, _OF_DJANGO).replace(*_NAMED_SIGN))
        for name, entries in _entries().items():
            dist.add(f"heartbit/{name}", join_modules(entries, _read).encode())
        dist.add("heartbit/web/theme.js", (OWN / "web" / "theme.js").read_bytes())
        dist.add("heartbit/icon.svg", (OWN / "icon.svg").read_bytes())
        written = json.dumps({"sources": fingerprint(), "names": dist.names}, indent=1)
        (dist.place / "manifest.json").write_text(written)
        dist.place.chmod(0o755)
        shutil.rmtree(place, ignore_errors=True)
        dist.place.rename(place)
        dist.place.mkdir()  # which the directory's end removes
    return dist.names


@cache
def names() -> dict[str, str]:
    """Return the built files by the names that templates use.

    A checkout whose sources have changed is built again, by one process at a time; one that this
    process may not write to, such as an image's, is taken as it was built.
    """
    if not MANIFEST.is_file() or (CHECKOUT is not None and os.access(STATIC, os.W_OK)):
        lock = os.open(STATIC, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not MANIFEST.is_file() or _manifest()["sources"] != fingerprint():
                build()
        finally:
            os.close(lock)
    return dict(_manifest()["names"])


def fingerprint() -> str:
    """Return what changes whenever a source of the build does."""
    found = hashlib.blake2b(digest_size=12)
    for path in _sources():
        found.update(path.as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _manifest() -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(MANIFEST.read_text())
    return manifest


def _entries() -> dict[str, list[str]]:
    """Return the modules of each script: a work page's begins with the frame."""
    pages = [path.name for path in sorted((OWN / "web").glob("*.js"))]
    parts = {name for page in pages for name in _BESIDE.findall(_read(f"web/{page}"))}
    own = [page for page in pages if page not in parts | {"theme.js", "frame.js"}]
    found = {f"web/{page}": ["web/frame.js", f"web/{page}"] for page in own}
    found["web/frame.js"] = ["web/frame.js"]
    # The admin's pages have the frame already.
    found["admin/form-preview.js"] = ["web/form-preview.js"]
    for path in sorted((OWN / "admin").glob("*.js")):
        found[f"admin/{path.name}"] = [f"admin/{path.name}"]
    return found


def _read(name: str) -> str:
    return (OWN / name).read_text()


def _joined(directory: Path, names: tuple[str, ...]) -> bytes:
    return ";\n".join((directory / f"{one}.js").read_text() for one in names).encode()


def _sheet(name: str) -> str:
    """Return a style sheet with those that it imports."""
    path = THEME / "css" / "styles.css" if name == "unfold" else OWN / name
    return _IMPORT.sub(
        lambda found: _sheet((PurePosixPath(name).parent / found.group(1)).as_posix()),
        path.read_text(),
    )


def _fonts(dist: Dist) -> str:
    """Write the fonts, and return the style sheet that names them."""
    from heartbit_site.shell import fonts  # noqa: PLC0415  only a build needs its packages

    faces = []
    for weights, file in (("400", "Inter-Regular"), ("500 700", "Inter-SemiBold")):
        path = _INTER / f"{file}.woff2"
        for name, content, letters in (
            (file, fonts.latin(path), fonts.ranges(beyond=False)),
            (f"{file}-more", path.read_bytes(), fonts.ranges(beyond=True)),
        ):
            url = dist.add(f"heartbit/{name}.woff2", content)
            faces.append(_face("Inter", weights, url, f"unicode-range: {letters};"))
    symbols = fonts.symbols(_SYMBOLS, _symbols_used())
    url = dist.add("heartbit/symbols.woff2", symbols)
    faces.append(_face("Material Symbols Outlined", "400", url))
    return "\n".join(faces)


def _face(family: str, weights: str, url: str, more: str = "") -> str:
    shown = "block" if "Symbols" in family else "swap"
    return (
        f'@font-face {{ font-family: "{family}"; font-weight: {weights}; font-display: {shown}; '
        f'src: url("{url.removeprefix("dist/")}") format("woff2"); {more} }}'
    )


def _symbols_used() -> set[str]:
    """Return the words that may be a symbol's name: those on lines that speak of icons."""
    words = set(_WRITTEN.findall((THEME / "css" / "styles.css").read_text()))
    for path in _sources():
        if path.suffix in {".py", ".html", ".js", ".toml"}:
            lines = path.read_text().split("\n")
            for at, line in enumerate(lines):
                if _OF_ICONS.search(line):
                    words |= set(_WORD.findall(" ".join(lines[at : at + 3])))
    return words


def _sources() -> list[Path]:
    apps = [directory_of(app) for app in ("agents", "tools", "memory", "scheduling")]
    found = {
        *PACKAGE.rglob("*.py"),
        *(path for app in apps for path in app.rglob("admin/**/*.py")),
        *TEMPLATES.rglob("*.html"),
        *directory_of("agents").rglob("definitions/*.toml"),
        *(path for path in OWN.rglob("*") if path.suffix in {".js", ".css", ".svg"}),
        *(THEME.parents[1] / "templates").rglob("*.html"),
    }
    return sorted(path for path in found if "__pycache__" not in path.parts)


def _compress(path: Path, content: bytes) -> None:
    import brotli  # noqa: PLC0415  only a build needs it

    Path(f"{path}.br").write_bytes(brotli.compress(content))
    Path(f"{path}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
