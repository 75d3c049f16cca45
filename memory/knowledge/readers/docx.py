"""DOCX: paragraphs, headings by their styles, tables by row, text boxes, footnotes and endnotes.

Tracked changes are read as accepted: insertions are text, deletions are skipped. Comments,
headers and footers are left out. Elements are compared by their local names, since the two forms of
the format, transitional and strict, have different namespaces.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from memory.knowledge.passages import Block, Extraction, RefusedDocumentError

_MOST_BYTES = 200_000_000
_MOST_ENTRIES = 10_000
_PIECE = 1_000_000
_HEADING = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)
_DEEPEST_STYLE = 20
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, KeyError, ParseError)
_DAMAGED = "is not a DOCX file, or is damaged"
# Deleted and moved text, field instructions, properties, and phonetic guides.
_NO_TEXT = frozenset(
    {
        *("del", "moveFrom", "delText", "instrText", "delInstrText", "rt"),
        *("pPr", "rPr", "sectPr", "sdtPr", "sdtEndPr", "tblPr", "tblGrid", "trPr", "tcPr"),
    }
)
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_OTHER_FILES = frozenset({"altChunk", "subDoc"})


def read(data: bytes, first: int) -> Extraction:
    """Read a document; ``first`` is 0, since a DOCX file has no fixed pages."""
    _check_archive(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            reader = _Reader(archive)
            return Extraction(list(reader.document()), problem=" ".join(reader.problems))
    except (*_DAMAGES, DefusedXmlException) as error:
        raise RefusedDocumentError(_DAMAGED) from error


def _check_archive(data: bytes) -> None:
    """Unpack the archive piece by piece once, since its stated sizes may be wrong."""
    room = _MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            for entry in entries[:_MOST_ENTRIES]:
                with archive.open(entry) as stream:
                    while room >= 0 and (piece := stream.read(_PIECE)):
                        room -= len(piece)
    except _DAMAGES as error:
        raise RefusedDocumentError(_DAMAGED) from error
    if len(entries) > _MOST_ENTRIES or room < 0:
        raise RefusedDocumentError(
            f"unpacks to more than {_MOST_BYTES // 1_000_000} MB or {_MOST_ENTRIES:,} files"
        )


class _Reader:
    """Reader of one document.

    Attributes:
        problems: Sentences about content that was left out.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.problems: list[str] = []
        self._archive = archive
        self._name = self._targets("").get("officeDocument", "word/document.xml")
        self._parts = self._targets(self._name)
        self._styles = {_value(style, "styleId"): style for style in self._part("styles")}
        self._notes = {
            (kind, _value(note, "id")): note
            for kind in _NOTES.values()
            for note in self._part(kind)
        }
        self._marks: dict[Element, str] = {}

    def document(self) -> Iterator[Block]:
        """Yield the blocks of the document."""
        return self._blocks(fromstring(self._archive.read(self._name), forbid_dtd=True))

    def _blocks(self, parent: Element) -> Iterator[Block]:
        for child in _shown(parent):
            match _name(child):
                case "p":
                    yield from self._paragraph(child)
                case "tbl":
                    rows = (row for row in _nearest(child, "tr") if not _has(row, "trPr", "del"))
                    yield Block("\n".join(map(self._row, rows)))
                case name if name in _OTHER_FILES:
                    self._add_problem("An embedded file is left out.")
                case _:
                    yield from self._blocks(child)

    def _paragraph(self, paragraph: Element) -> Iterator[Block]:
        text: list[str] = []
        behind: list[Element] = []  # text boxes and notes, which contain paragraphs
        self._read_text(paragraph, text, behind)
        yield Block("".join(text), self._level(paragraph))
        for each in behind:
            yield from self._blocks(each)

    def _read_text(self, parent: Element, text: list[str], behind: list[Element]) -> None:
        for child in _shown(parent):
            name = _name(child)
            if name == "t":
                text.append(child.text or "")
            elif name in _CHARACTERS:
                text.append(_CHARACTERS[name])
            elif name == "sym":
                text.append(_symbol(child))
            elif name == "ddList":
                text.append(_choice(child))
            elif name in _NOTES:
                note = self._notes.get((_NOTES[name], _value(child, "id")))
                if note is None:
                    self._add_problem("Notes that are damaged or missing are left out.")
                    continue
                if note not in self._marks:  # its text follows only the first reference
                    self._marks[note] = self._mark(note)
                    behind.append(note)
                text.append(self._marks[note])
            elif name == "txbxContent":
                behind.append(child)
            else:
                self._read_text(child, text, behind)

    def _mark(self, note: Element) -> str:
        """Return the next number of a note, which also precedes its text."""
        mark = f"[{len(self._marks) + 1}]"
        for own in note.iter():
            if _name(own) in {"footnoteRef", "endnoteRef"}:
                own.tag, own.text = "t", mark
                break
        return mark

    def _row(self, row: Element) -> str:
        cells = (cell for cell in _nearest(row, "tc") if not _has(cell, "tcPr", "cellDel"))
        texts = (" ".join(block.text for block in self._blocks(cell)) for cell in cells)
        return " | ".join(" ".join(text.split()) for text in texts)

    def _level(self, paragraph: Element) -> int:
        """Return the level of a heading: its own, else its style's or an extended style's."""
        properties = _child(paragraph, "pPr")
        if properties is None:
            return 0
        found = _outline_level(properties)
        style = _child(properties, "pStyle")
        for _ in range(_DEEPEST_STYLE):
            known = None if style is None else self._styles.get(_value(style, "val"))
            if found is not None or known is None:
                break
            found = _style_level(known)
            style = _child(known, "basedOn")
        return found or 0

    def _part(self, kind: str) -> list[Element]:
        """Return the elements of an additional part; empty if it is missing."""
        if kind not in self._parts:
            return []
        try:
            return list(fromstring(self._archive.read(self._parts[kind]), forbid_dtd=True))
        except (KeyError, ParseError):
            self._add_problem(f"The part {kind} is damaged or missing, and is left out.")
            return []

    def _targets(self, name: str) -> dict[str, str]:
        """Return the names of the parts that a part refers to, by their kind."""
        folder, _, own = name.rpartition("/")
        path = posixpath.join(folder, "_rels", f"{own}.rels")
        targets = {}
        if path in self._archive.namelist():
            for one in fromstring(self._archive.read(path), forbid_dtd=True):
                kind = _value(one, "Type").rpartition("/")[2]
                target = posixpath.join("/", folder, _value(one, "Target"))
                targets[kind] = posixpath.normpath(target).lstrip("/")
        return targets

    def _add_problem(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)


def _shown(parent: Element) -> Iterator[Element]:
    """Yield the children that are text; of alternatives for several programs, the first one."""
    for child in parent:
        name = _name(child)
        if name == "AlternateContent":
            yield from child[:1]
        elif name not in _NO_TEXT:
            yield child


def _nearest(parent: Element, wanted: str) -> Iterator[Element]:
    """Yield the rows of a table, or the cells of a row, also those within content controls."""
    for child in _shown(parent):
        if _name(child) == wanted:
            yield child
        else:
            yield from _nearest(child, wanted)


def _outline_level(properties: Element) -> int | None:
    found = _child(properties, "outlineLvl")
    number = "" if found is None else _value(found, "val")
    if not number.isdecimal():
        return None
    return 0 if int(number) > 8 else int(number) + 2


def _style_level(style: Element) -> int | None:
    named = _child(style, "name")
    name = "" if named is None else _value(named, "val")
    if name.lower() == "title":
        return 1
    found = _HEADING.match(name)
    if found:
        return int(found[1]) + 1
    properties = _child(style, "pPr")
    return None if properties is None else _outline_level(properties)


def _symbol(element: Element) -> str:
    try:
        return chr(int(_value(element, "char"), 16))
    except (ValueError, OverflowError):
        return "\ufffd"


def _choice(dropdown: Element) -> str:
    """Return the chosen entry of a drop-down list, which appears in no other text."""
    entries = [_value(one, "val") for one in dropdown if _name(one) == "listEntry"]
    chosen = _child(dropdown, "result")
    number = "0" if chosen is None else _value(chosen, "val")
    return entries[int(number)] if number.isdecimal() and int(number) < len(entries) else ""


def _has(parent: Element, properties: str, name: str) -> bool:
    found = _child(parent, properties)
    return found is not None and _child(found, name) is not None


def _child(parent: Element, name: str) -> Element | None:
    return next((child for child in parent if _name(child) == name), None)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _value(element: Element, name: str) -> str:
    """Return an attribute by its local name; empty if there is none."""
    found = (value for key, value in element.items() if key.rpartition("}")[2] == name)
    return next(found, "")
