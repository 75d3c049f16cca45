"""Program that reads a part of a document in a sandbox (``heartbit_site.base.reader_walls``).

It is run as a file by ``memory.knowledge.reader``, in its own process: an untrusted document can
keep a parser busy for hours, exhaust the memory or exploit a bug, and a thread cannot be stopped.
It reads the document from its standard input, and writes JSON: the pages and passages, or
``refused`` with the end of a sentence.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys
import warnings
from pathlib import Path

MOST_CHARACTERS = 10_000_000
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def main(kind: str, first: int) -> None:
    """Read a part.

    Args:
        kind: A value of ``DocumentKind``.
        first: Number of pages that were read before.
    """
    warnings.simplefilter("ignore")
    # A reader may inspect its library's log records; nothing else uses them.
    logging.getLogger().addHandler(logging.NullHandler())
    data = sys.stdin.buffer.read()
    try:
        answer = json.dumps(_read(kind, data, first), ensure_ascii=False)
        sys.stdout.buffer.write(answer.encode())
    except MemoryError:
        sys.exit(3)


def _read(kind: str, data: bytes, first: int) -> dict[str, object]:
    # After sys.path is set.
    from memory.knowledge.passages import RefusedDocumentError, build_passages  # noqa: PLC0415

    reader = importlib.import_module(f"memory.knowledge.readers.{kind}")
    try:
        reading = reader.read(data, first)
    except RefusedDocumentError as refusal:
        return {"refused": str(refusal)}
    except RecursionError:
        return {"refused": "is nested too deeply"}
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  a parser of hostile files may raise anything
        return {"refused": "is damaged, and cannot be read"}
    passages = build_passages(reading)
    if sum(len(passage.text) for passage in passages) > MOST_CHARACTERS:
        return {"refused": f"has more than {MOST_CHARACTERS:,} characters: split it"}
    rows = [
        (passage.page, list(map(_clean, passage.headings)), _clean(passage.text))
        for passage in passages
    ]
    return {
        "pages": reading.pages,
        "pages_read": reading.pages_read,
        "problem": _clean(reading.problem),
        "passages": rows,
    }


def _clean(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


if __name__ == "__main__":
    # Isolated (-I): only the standard library and site-packages are on the path by default.
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(sys.argv[1], int(sys.argv[2]))
