"""Program that draws the pages of a PDF in a sandbox (``heartbit_site.base.reader_walls``).

It is run as a file by ``heartbit_site.base.pdf_pages``. It reads the PDF from its standard input
and writes a line, ``pages`` and the size of each page's JPEG, and the JPEGs; or ``refused`` and the
end of a sentence.
"""

from __future__ import annotations

import io
import sys

import pypdfium2

_POINTS: int = 72  # of an inch, the unit of a page's size
_MOST_DOTS: int = 200  # per inch: a small page is drawn no sharper


def main(most_pages: int, longest_side: int) -> None:
    """Draw all pages, unless there are too many."""
    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
        count = len(document)
        if not 0 < count <= most_pages:
            said = f"has {count} pages: at most {most_pages} are shown as pictures; split it"
            _write("refused", said.encode())
            return
        pages = [_drawn(document[number], longest_side) for number in range(count)]
    except pypdfium2.PdfiumError:
        _write("refused", b"is damaged or needs a password, and cannot be drawn")
    except MemoryError:
        sys.exit(3)
    else:
        _write(" ".join(["pages", *(str(len(page)) for page in pages)]), b"".join(pages))


def _drawn(page: pypdfium2.PdfPage, longest_side: int) -> bytes:
    scale = min(longest_side / max(*page.get_size(), 1), _MOST_DOTS / _POINTS)
    file = io.BytesIO()
    image = page.render(scale=scale, may_draw_forms=False).to_pil()
    image.convert("RGB").save(file, "JPEG", quality=85)
    page.close()
    return file.getvalue()


def _write(head: str, content: bytes) -> None:
    sys.stdout.buffer.write(head.encode() + b"\n" + content)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
