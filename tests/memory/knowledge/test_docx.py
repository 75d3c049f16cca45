"""A DOCX is read as its reader sees it: nothing that is shown is lost, nothing deleted is found."""

from __future__ import annotations

import io
import zipfile

import pytest

from memory.actions.documents import detect_kind
from memory.knowledge.reader import DocumentPart, read_part

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT_OFFICE = "http://purl.oclc.org/ooxml/officeDocument/relationships"
MARK = 'w:id="1" w:author="A"'


def p(inner: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def r(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def sdt(inner: str) -> str:
    return f"<w:sdt><w:sdtPr/><w:sdtContent>{inner}</w:sdtContent></w:sdt>"


def tr(*cells: str, properties: str = "") -> str:
    inner = "".join(f"<w:tc><w:tcPr/>{cell}</w:tc>" for cell in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{inner}</w:tr>"


def tbl(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(rows)}</w:tbl>"


def field(instruction: str, result: str) -> str:
    char = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    return f"{char.format('begin')}{code}{char.format('separate')}{result}{char.format('end')}"


def box(text: str) -> str:
    """Return a text box as Word writes it: twice, for new and for old programs."""
    content = f"<w:txbxContent>{p(r(text))}</w:txbxContent>"
    mc = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    return (
        f'<w:r><mc:AlternateContent xmlns:mc="{mc}"><mc:Choice Requires="wps"><w:drawing>{content}'
        f"</w:drawing></mc:Choice><mc:Fallback><w:pict>{content}</w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )


def docx(
    body: str, parts: dict[str, str] | None = None, name: str = "document.xml", word: str = WORD
) -> bytes:
    """Return a document; ``parts`` are the elements of those beside it, by their kind."""
    office = STRICT_OFFICE if word == STRICT else OFFICE
    links = {kind: f"{kind}.xml" for kind in parts or {}} | {"image": "NULL"}
    package = "http://schemas.openxmlformats.org/package/2006/relationships"

    def rels(targets: dict[str, str]) -> str:
        each = (
            f'<Relationship Id="{kind}" Type="{office}/{kind}" Target="{target}"/>'
            for kind, target in targets.items()
        )
        return f'<Relationships xmlns="{package}">{"".join(each)}</Relationships>'

    files = {
        "_rels/.rels": rels({"officeDocument": f"/word/{name}"}),
        f"word/_rels/{name}.rels": rels(links),
        f"word/{name}": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>',
    }
    for kind, inner in (parts or {}).items():
        files[f"word/{kind}.xml"] = f'<w:{kind} xmlns:w="{word}">{inner}</w:{kind}>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return file.getvalue()


def read(data: bytes) -> DocumentPart:
    return read_part("a.docx", detect_kind("a.docx", data), data, pages_read=0)


def text_of(body: str, parts: dict[str, str] | None = None) -> str:
    part = read(docx(body, parts))
    assert part.problem == ""
    return "\n\n".join(passage.text for passage in part.passages)


DELETED = f"<w:del {MARK}><w:r><w:delText>thirty</w:delText></w:r></w:del>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            p(r("In ") + DELETED + f"<w:ins {MARK}>{r('ninety')}</w:ins>" + r(" days")),
            "In ninety days",
        ),
        (
            p(f"<w:moveFrom {MARK}>{r('Here.')}</w:moveFrom>")
            + p(f"<w:moveTo {MARK}>{r('There.')}</w:moveTo>"),
            "There.",
        ),
        (p(r("Name: ") + sdt(r("Ada"))) + sdt(p(r("Whole."))), "Name: Ada\n\nWhole."),
        (p(f"<w:smartTag>{r('A')}</w:smartTag><w:hyperlink>{r(' link')}</w:hyperlink>"), "A link"),
        (
            p(field("DATE", r("1 May")) + f"<w:fldSimple w:instr='x'>{r('!')}</w:fldSimple>"),
            "1 May!",
        ),
        (
            p(
                '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/>'
                '<w:listEntry w:val="Yes"/><w:listEntry w:val="No"/></w:ddList></w:ffData>'
                "</w:fldChar></w:r>"
            ),
            "No",
        ),
        (
            p(f"<w:ruby><w:rt>{r('kan')}</w:rt><w:rubyBase>{r('漢')}</w:rubyBase></w:ruby>"),
            "漢",
        ),
        (p(r("E") + "<m:oMath xmlns:m='m'><m:r><m:t>=mc</m:t></m:r></m:oMath>"), "E=mc"),
        (
            p("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:tab/><w:sym w:char='2192'/></w:r>"),
            "a-\t→",
        ),
        (p(r("Before.") + box("Boxed.")) + p(r("After.")), "Before.\n\nBoxed.\n\nAfter."),
        (
            tbl(tr(p(r("Outer.")) + tbl(tr(p(r("a")), p(r("b")))) + p(""), p(sdt(r("Right."))))),
            "Outer. a | b | Right.",
        ),
        (
            tbl(sdt(tr(p(r("kept")))), tr(p(r("gone")), properties=f"<w:del {MARK}/>")),
            "kept",
        ),
    ],
)
def test_what_is_shown_is_read_and_what_is_deleted_is_not(body: str, text: str) -> None:
    assert text_of(body) == text


def test_notes_stand_behind_their_paragraph_with_their_number() -> None:
    def note(kind: str, number: int, text: str) -> str:
        own = f"<w:r><w:{kind}Ref/></w:r>"
        return f'<w:{kind} w:id="{number}">{p(own + r(text))}</w:{kind}>'

    body = p(
        r("One") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + r(", two")
        + '<w:r><w:endnoteReference w:id="2"/></w:r>'
    ) + p(r("Again") + '<w:r><w:footnoteReference w:id="2"/></w:r>')  # fmt: skip
    parts = {
        "footnotes": note("footnote", 1, "Separator") + note("footnote", 2, " A foot."),
        "endnotes": note("endnote", 2, " An end."),
    }
    assert text_of(body, parts) == "One[1], two[2]\n\n[1] A foot.\n\n[2] An end.\n\nAgain[1]"


def test_headings_are_known_by_styles_that_extend_them_and_by_their_level() -> None:
    styles = (
        '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="berschrift1"/></w:style>'
        '<w:style w:styleId="A"><w:name w:val="A"/><w:basedOn w:val="A"/></w:style>'
    )
    body = (
        p(r("Rules"), '<w:pStyle w:val="Own"/>')
        + p(r("Travel"), '<w:outlineLvl w:val="1"/>')
        + p(r("By train."), '<w:pStyle w:val="A"/>')
    )
    [passage] = read(docx(body, {"styles": styles})).passages
    assert (passage.headings, passage.text) == (("Rules", "Travel"), "By train.")


@pytest.mark.parametrize(
    "data",
    [
        docx(p(r("Read.")), name="document2.xml"),
        docx(p(r("Read.")), word=STRICT),
    ],
    ids=["of another name", "strict"],
)
def test_a_document_of_another_program_is_read(data: bytes) -> None:
    assert [passage.text for passage in read(data).passages] == ["Read."]


@pytest.mark.parametrize(
    ("body", "parts", "problem"),
    [
        (
            p(r("Read.")) + '<w:altChunk r:id="x" xmlns:r="r"/>',
            None,
            "An embedded file is left out.",
        ),
        (
            p(r("Read.") + '<w:r><w:footnoteReference w:id="2"/></w:r>'),
            {"footnotes": "<"},
            "The part footnotes is damaged or missing, and is left out. "
            "Notes that are damaged or missing are left out.",
        ),
    ],
)
def test_what_is_not_read_is_said(body: str, parts: dict[str, str] | None, problem: str) -> None:
    part = read(docx(body, parts))
    assert [passage.text for passage in part.passages] == ["Read."]
    assert part.problem == problem
