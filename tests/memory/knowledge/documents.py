"""Documents of every form, made for tests: a handbook of three chapters."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import docx

if TYPE_CHECKING:
    from collections.abc import Sequence

CHAPTERS = (
    ("Holidays", "Everyone has thirty days of holiday a year."),
    ("Travel", "Trains are booked in second class. Flights need the consent of your lead."),
    ("Security", "Report a lost laptop to the helpdesk within one hour."),
)
MARKDOWN = "# Handbook\n\n" + "\n\n".join(f"## {title}\n\n{text}" for title, text in CHAPTERS)
HTML = (
    "<!doctype html><html><head><title>Handbook</title></head><body><nav>Home | Shop | Login</nav>"
    "<main><h1>Handbook</h1>"
    + "".join(f"<h2>{title}</h2><p>{text}</p>" for title, text in CHAPTERS)
    + "</main><script>alert(1)</script></body></html>"
)


def docx_handbook() -> bytes:
    """Return the handbook as DOCX, with a table."""
    made = docx.Document()
    made.add_heading("Handbook", level=0)
    for title, text in CHAPTERS:
        made.add_heading(title, level=1)
        made.add_paragraph(text)
    table = made.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Helpdesk", "extension 4711"
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def pdf_handbook() -> bytes:
    """Return the handbook as PDF, a chapter a page, with an outline."""
    pages = [f"{title}\n{text}" for title, text in CHAPTERS]
    return pdf(pages, outline=[title for title, _ in CHAPTERS])


def pdf(pages: Sequence[str | bytes], outline: Sequence[str] = (), entry: bytes = b"") -> bytes:
    """Return a PDF with a text a page, and an outline whose n-th title stands on the n-th page.

    A page that is bytes has them as its content, with ``entry`` in the dictionary of the stream.
    """
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    # Objects: 1 catalog, 2 pages, 3 font, then two a page, then the outline.
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R"
        + (f" /Outlines {4 + 2 * count} 0 R".encode() if outline else b"")
        + b" >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F 3 0 R >> >> >>".encode()
        )
        stream, more = (text, entry) if isinstance(text, bytes) else (_content(text), b"")
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), more, stream))
    if outline:
        top = 4 + 2 * count
        last = top + len(outline)
        objects.append(
            f"<< /First {top + 1} 0 R /Last {last} 0 R /Count {len(outline)} >>".encode()
        )
        for number, title in enumerate(outline):
            beside = f" /Prev {top + number} 0 R" if number else ""
            beside += f" /Next {top + number + 2} 0 R" if number + 1 < len(outline) else ""
            objects.append(
                f"<< /Title ({_escaped(title)}) /Parent {top} 0 R{beside} "
                f"/Dest [{4 + 2 * number} 0 R /Fit] >>".encode()
            )
    return _file(objects)


def _content(text: str) -> bytes:
    shown = " T* ".join(f"({_escaped(line)}) Tj" for line in text.split("\n"))
    return f"BT /F 11 Tf 14 TL 40 760 Td {shown} ET".encode("latin-1")


def _file(objects: Sequence[bytes]) -> bytes:
    file, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    file += b"".join(b"%010d 00000 n \n" % place for place in places)
    file += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(file)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
