"""Each form of document becomes passages below its headings; hostile files get one sentence."""

from __future__ import annotations

import io
import struct
import time
import zipfile
from typing import TYPE_CHECKING

import pytest
from pypdf import PageObject

from memory.actions.documents import detect_kind
from memory.choices import DocumentKind
from memory.errors import UnreadableDocumentError
from memory.knowledge import reader
from memory.knowledge.passages import LONGEST, Block, Extraction, build_passages
from memory.knowledge.reader import read_part
from memory.knowledge.readers import html as html_reader
from memory.knowledge.readers import pdf as pdf_reader
from tests.memory.knowledge import documents

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS = {
    "handbook.md": documents.MARKDOWN.encode(),
    "handbook.html": documents.HTML.encode(),
    "handbook.docx": documents.docx_handbook(),
    "handbook.pdf": documents.pdf_handbook(),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_document_of_each_form_is_divided_at_its_headings(name: str) -> None:
    data = FORMS[name]
    part = read_part(name, detect_kind(name, data), data, pages_read=0)
    assert part.is_last
    assert [passage.headings[-1] for passage in part.passages] == ["Holidays", "Travel", "Security"]
    for passage, (_, text) in zip(part.passages, documents.CHAPTERS, strict=True):
        assert passage.text.startswith(text)
    paged = name.endswith(".pdf")
    assert [passage.page for passage in part.passages] == ([1, 2, 3] if paged else [None] * 3)
    said = " ".join(passage.text for passage in part.passages)
    assert "Login" not in said  # the navigation of a page
    assert "alert" not in said
    assert ("Helpdesk | extension 4711" in said) == name.endswith(".docx")


@pytest.mark.parametrize("body", ["Cars park here.", "Cars park here, by the gate. " * 40])
def test_a_page_is_read_without_what_is_beside_its_text(body: str) -> None:
    page = (
        "<header>Intranet<nav>Home</nav></header><div role=navigation>Menu</div><nav>Login</nav>"
        "<script>let x</script><style>p {}</style>"
        "<main><article><header><h1>Parking</h1></header>"
        f"<p>{body}</p></article></main>After<aside>Related</aside><footer>Imprint</footer>"
    )
    said = " ".join(one.text for one in html_reader.read(page.encode(), 0).blocks)
    assert body.strip() in said
    for beside in ("Intranet", "Home", "Menu", "Login", "let x", "p {}", "Related", "Imprint"):
        assert beside not in said


def test_a_text_without_headings_is_divided_at_paragraphs_and_sentences_and_nothing_is_lost() -> (
    None
):
    sentence = "The quick brown fox jumps over the lazy dog again and again. "
    blocks = [Block(f"Paragraph {number}. " + sentence * 8) for number in range(5)]
    blocks.append(Block(sentence * 100))
    blocks.append(Block("x" * (2 * LONGEST)))
    passages = build_passages(Extraction(blocks))
    assert all(len(passage.text) <= LONGEST + 10 for passage in passages)
    assert max(len(passage.text) for passage in passages[:-3]) > LONGEST // 2
    words = " ".join(passage.text for passage in passages).split()
    assert words[:-2] == " ".join(block.text for block in blocks[:-1]).split()
    assert "".join(words[-2:]) == "x" * (2 * LONGEST)


def test_a_heading_that_nothing_follows_is_found_and_none_is_below_a_sibling() -> None:
    blocks = [
        *(Block("Menu", 1), Block("Soups", 2), Block("Desserts", 2), Block("Ice, page 2.", 0)),
        *(Block("Contact", 1),),
    ]
    found = [(passage.headings, passage.text) for passage in build_passages(Extraction(blocks))]
    assert found == [
        (("Menu",), "Soups"),
        (("Menu", "Desserts"), "Ice, page 2."),
        ((), "Contact"),
    ]


def test_headings_of_a_pdf_apply_to_later_parts() -> None:
    data = documents.pdf(["Intro\nFirst.", "Second.", "Third."], outline=["Intro"])
    part = read_part("a.pdf", "pdf", data, pages_read=1)
    assert [(one.page, one.headings) for one in part.passages] == [(2, ("Intro",)), (3, ("Intro",))]


DAMAGES = {
    "no deflated stream": (b"raw, whatever the filter says", b"/Filter /FlateDecode"),
    "unknown filter": (b"abc", b"/Filter /NoSuchDecode"),
    "broken inline image": (b"q BI /W 10 /H 10 ID \x00\x01\x02 Q BT /F 12 Tf (x) Tj", b""),
    "nonsense": (b"(x) Tj ] ET >> BT [ (y) TJ << /A", b""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_page_of_a_pdf_is_left_out_and_named(damage: str) -> None:
    content, entry = DAMAGES[damage]
    data = documents.pdf(["First.", content, "Third.", content, content], entry=entry)
    part = read_part("a.pdf", "pdf", data, pages_read=0)
    assert [(one.page, one.text) for one in part.passages] == [(1, "First."), (3, "Third.")]
    assert (part.is_last, part.pages_read) == (True, 5)
    assert part.problem == "Pages 2, 4 to 5 are damaged: some of their text is left out."


# The alarm may fall into a callback of the collector, which swallows it; it comes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_page_that_takes_too_long_does_not_cost_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf_reader, "PAGE_SECONDS", 0.5)
    monkeypatch.setattr(pdf_reader, "PART_SECONDS", 60.0)
    slow = b"BT /F 12 Tf " + b"(x) Tj 1 0 0 1 0 0 Tm " * 200_000 + b"ET"
    found = pdf_reader.read(documents.pdf(["First.", slow, "Third."]), 0)
    assert [block.text for block in found.blocks if block.text] == ["First.", "Third."]
    assert found.problem == "Page 2 is damaged: some of its text is left out."


def test_a_parser_that_catches_the_first_end_of_a_page_s_time_is_ended_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[object] = []

    def extract(_page: object) -> str:
        for _ in range(2):
            until = time.process_time() + 2
            try:
                while time.process_time() < until:
                    pass
            except Exception as error:  # as pypdf does in many places
                ends.append(error)
                if len(ends) == 2:
                    raise
        return "Late."

    monkeypatch.setattr(pdf_reader, "PAGE_SECONDS", 0.2)
    monkeypatch.setattr(pdf_reader, "AGAIN_SECONDS", 0.2)
    monkeypatch.setattr(PageObject, "extract_text", extract)
    found = pdf_reader.read(documents.pdf(["First."]), 0)
    assert found.problem == "Page 1 is damaged: some of its text is left out."


def _bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 250_000_000)
    return file.getvalue()


def _small_bomb() -> bytes:
    """Return an archive that unpacks to as much, and says that it does not."""
    data = bytearray(_bomb())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + offset, 5)
    return bytes(data)


def _xml(body: str) -> bytes:
    """Return a DOCX whose text is an XML document."""
    given = io.BytesIO(documents.docx_handbook())
    file = io.BytesIO()
    with zipfile.ZipFile(given) as former, zipfile.ZipFile(file, "w") as archive:
        for entry in former.infolist():
            content = former.read(entry)
            is_text = entry.filename == "word/document.xml"
            archive.writestr(entry.filename, body.encode() if is_text else content)
    return file.getvalue()


_ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(12))
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LOOP = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[2 0 R]/Count 9>>endobj\ntrailer<</Root 1 0 R>>"
)
#: Makers of hostile files, since tests are collected by each process of pytest-xdist.
HOSTILE: dict[str, Callable[[], bytes]] = {
    "not really.pdf": lambda: b"%PDF-1.7 nothing here",
    "loop.pdf": lambda: _LOOP,
    "truncated.pdf": lambda: documents.pdf_handbook()[:400],
    "broken.docx": lambda: b"PK\x03\x04 word/document",
    "bomb.docx": _bomb,
    "small bomb.docx": _small_bomb,
    "entities.docx": lambda: _xml(f"<!DOCTYPE a [{_ENTITIES}]><a>&e11;</a>"),
    "file.docx": lambda: _xml(
        '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        f'<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r><w:t>&f;</w:t></w:r></w:p></w:body>'
        "</w:document>"
    ),
    "deep.html": lambda: b"<html>" + b"<div>" * 200_000,
    "deep.md": lambda: b"> " * 100_000 + b"x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_read_harmlessly_or_refused_in_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART_TIMEOUT_SECONDS", 20.0)
    data = HOSTILE[name]()
    try:
        part = read_part(name, detect_kind(name, data), data, pages_read=0)
    except UnreadableDocumentError as refused:
        said = str(refused)
        assert said.startswith(name)
        assert said.endswith(".")
        assert "\n" not in said
        assert len(said) < 200
    else:
        said = " ".join(passage.text for passage in part.passages)
        assert "root:" not in said
        assert len(said) < 1_000_000


def test_a_reader_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PART_TIMEOUT_SECONDS", 0.01)
    with pytest.raises(UnreadableDocumentError, match="takes too much time or memory to read"):
        read_part("a.md", "markdown", b"# A", pages_read=0)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"x", DocumentKind.TEXT),
        ("notes", "\ufeffÜber".encode("utf-16"), DocumentKind.TEXT),
        ("README.MD", b"# x", DocumentKind.MARKDOWN),
        ("page", b"<!DOCTYPE html><p>x", DocumentKind.HTML),
        ("wrong.txt", b"%PDF-1.4", DocumentKind.PDF),
    ],
)
def test_the_form_is_known_by_content_and_name(name: str, data: bytes, kind: DocumentKind) -> None:
    assert detect_kind(name, data) == kind


@pytest.mark.parametrize("data", [b"PK\x03\x04 xl/workbook.xml", b"\x89PNG\r\n\0\0", b"\xd0\xcf\0"])
def test_another_form_is_refused_with_those_that_can_be_read(data: bytes) -> None:
    with pytest.raises(UnreadableDocumentError, match="text, Markdown, HTML, PDF or DOCX"):
        detect_kind("a.xlsx", data)
