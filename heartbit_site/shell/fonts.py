"""Small fonts: of the theme's ones only what pages write.

Latin letters come at once; the rest of the text font is fetched by pages that have such letters.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

# It tells of every letter.
logging.getLogger("fontTools").setLevel(logging.WARNING)

#: First and last letters: Latin, punctuation, arrows, currencies and mathematics.
_LATIN: Final = (
    *((0x20, 0x7E), (0xA0, 0x17F), (0x2C6, 0x2C6), (0x2DC, 0x2DC), (0x2000, 0x206F)),
    *((0x20AC, 0x20AC), (0x2122, 0x2122), (0x2190, 0x2193), (0x2212, 0x2212), (0x2215, 0x2215)),
    *((0x2260, 0x2265), (0xFEFF, 0xFEFF), (0xFFFD, 0xFFFD)),
)


def ranges(*, beyond: bool) -> str:
    """Return the letters of the Latin part, or those beyond it, as a style sheet names them."""
    between = pairwise(_LATIN)
    parts = [(last + 1, first - 1) for (_, last), (first, _) in between] if beyond else _LATIN
    return ", ".join(f"U+{first:X}-{last:X}" for first, last in parts if first <= last)


_FEATURES: Final = ("kern", "calt", "ccmp", "locl", "mark", "mkmk", "tnum", "cv05", "ss03")


def latin(path: Path) -> bytes:
    """Return the Latin part of a text font, as WOFF2."""
    points = {point for first, last in _LATIN for point in range(first, last + 1)}
    return _cut(TTFont(path), points)


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
