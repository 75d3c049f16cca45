"""Small fonts: of the theme's ones only what pages write.

Latin letters come at once; the rest of the text font is fetched by pages that have such letters.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

#: Latin, punctuation, arrows, currencies and mathematics.
LATIN: Final = (
    "U+0020-007E, U+00A0-017F, U+02C6, U+02DC, U+2000-206F, U+20AC, U+2122, U+2190-2193, U+2212, "
    "U+2215, U+2260-2265, U+FEFF, U+FFFD"
)
#: All other letters.
BEYOND: Final = (
    "U+0180-02C5, U+02C7-02DB, U+02DD-1FFF, U+2070-20AB, U+20AD-2121, U+2123-218F, U+2194-2211, "
    "U+2213-2214, U+2216-225F, U+2266-FEFE"
)
_FEATURES: Final = ("kern", "calt", "ccmp", "locl", "mark", "mkmk", "tnum", "cv05", "ss03")


def latin(path: Path) -> bytes:
    """Return the Latin part of a text font, as WOFF2."""
    return _cut(
        TTFont(path), {point for first, last in _ranges(LATIN) for point in range(first, last + 1)}
    )


def symbols(path: Path, names: Iterable[str]) -> bytes:
    """Return a font of symbols with those of some names, as WOFF2; unknown names are left out."""
    font = TTFont(path)
    wanted = set(names)
    letters = {name: chr(code) for code, name in font.getBestCmap().items()}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for first, ligatures in list(table.ligatures.items()):
                kept = [
                    one
                    for one in ligatures
                    if "".join(letters.get(part, "?") for part in [first, *one.Component]) in wanted
                ]
                if kept:
                    table.ligatures[first] = kept
                else:
                    del table.ligatures[first]
    return _cut(
        font, {ord(letter) for name in wanted for letter in name}, features=("rlig", "liga")
    )


def _cut(font: TTFont, points: set[int], features: Iterable[str] = _FEATURES) -> bytes:
    font.recalcTimestamp = False  # the same font has the same hash
    options = Options()
    options.layout_features = list(features)
    options.flavor = "woff2"
    options.drop_tables += ["FFTM"]
    options.hinting = False
    options.name_IDs = []
    options.notdef_outline = True
    cutter = Subsetter(options)
    cutter.populate(unicodes=points)
    cutter.subset(font)
    font.flavor = "woff2"
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


def _ranges(text: str) -> list[tuple[int, int]]:
    found = re.findall(r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?", text)
    return [(int(first, 16), int(last or first, 16)) for first, last in found]
