"""Pictures and documents of a request to start a run: checked, re-encoded and stored."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Final, TypeVar

from agents.llm.wrappers.pictured import ADDRESS
from agents.querysets import find_run
from agents.reads.artifacts import stored_content
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError, NotFoundError
from heartbit_site.base.pdf_pages import is_pdf, pages_of, pictures_in
from heartbit_site.base.pictures import MOST_PICTURES, Picture, PictureError, from_base64
from heartbit_site.base.reader_process import read_aside
from heartbit_site.base.untrusted import clean_text
from heartbit_site.contract.model import MAX_TASK_CHARACTERS
from heartbit_site.contract.operation import Answered, PendingAnswer
from memory.choices import DocumentKind
from memory.errors import UnreadableDocumentError
from memory.knowledge.reader import read_part

T = TypeVar("T")
Out = TypeVar("Out")

#: Characters of each document that the model reads.
MOST_CHARACTERS: Final = 100_000
_TYPES: Final = "text, such as .txt, .md, .csv or .json, PDF or DOCX"


class AttachmentError(HeartbitError):
    """A document cannot be attached; the message is one sentence that names it."""


@dataclass(frozen=True, slots=True)
class Attachments:
    """Files of a request before they are read.

    Attributes:
        pictures: Pictures and PDFs to be shown, each with its name.
        documents: Documents, each with its name.
    """

    pictures: Sequence[tuple[bytes, str]]
    documents: Sequence[tuple[bytes, str]]

    def read_pictures(self) -> list[Picture]:
        """Return the pictures, re-encoded, and the pages of PDFs; see ``after_reading``."""
        return list(chain.from_iterable(starmap(pictures_in, self.pictures)))

    def read_beside(self, text: str) -> tuple[str, list[Picture]]:
        """Return a message with documents as marked parts of its text, and the pictures beside it.

        The chat folds the parts. A PDF without text, such as a scan, is shown: its pages are
        pictures. The calling thread waits for processes: see ``after_reading``.

        Args:
            text: The message; with pictures alone the result says so, as no message is empty.

        Raises:
            PictureError: A picture or a page is not accepted, or there are more than 20.
            AttachmentError: A document is of another type, or cannot be read; or they are too long
                together.
            ReadersBusyError: As ``reader_process.read``.
            ReadingTimeError: As ``reader_process.read``.
        """
        pictures = self.read_pictures()
        parts = []
        for data, name in self.documents:
            part, pages = _part(name, data)
            parts.append(part)
            pictures += pages
        if len(pictures) > MOST_PICTURES:
            raise PictureError(
                f"These are {len(pictures)} pictures and pages: attach at most {MOST_PICTURES}."
            )
        if sum(map(len, parts)) > MAX_TASK_CHARACTERS:
            raise AttachmentError(
                f"The documents have more than {MAX_TASK_CHARACTERS:,} characters together: attach "
                "fewer."
            )
        said = "\n\n".join(filter(None, (text.strip(), *parts)))
        return said or ("See the attached." if pictures else ""), pictures


def attachments(
    access: Access, images: Sequence[str], documents: Mapping[str, str] | None = None
) -> Attachments | None:
    """Return the files of a request, which are not looked at yet; None: it has none.

    Args:
        access: The caller.
        images: Each in base64, as a data URL, or as ``artifact:RUN/NAME``.
        documents: Content in base64, by file name.

    Raises:
        PictureError: A picture is not base64, or no artifact of the workspace.
        AttachmentError: A document is not base64.
    """
    if not images and not documents:
        return None
    names = (f"Picture {number}" for number in range(1, len(images) + 1))
    return Attachments(
        [(_content(access, image, name), name) for image, name in zip(images, names, strict=True)],
        [_document(name, content) for name, content in (documents or {}).items()],
    )


def after_reading(
    access: Access,
    read: Callable[[], T],
    then: Callable[[T], Out | Answered[Out] | PendingAnswer[Out]],
) -> PendingAnswer[Out]:
    """Return the answer to a request with files, which are read outside the ORM's threads.

    A hostile file takes as long as its reader may: the threads that all requests need, and
    transactions, do not wait for it.

    Args:
        access: The caller, whose workspace never takes all readers.
        read: Reads the files, without the ORM.
        then: Answers with what was read; may use the ORM.
    """

    async def wait() -> Out | Answered[Out]:
        found = await read_aside(read, access.workspace.pk)
        answer = await orm.run_in_thread(lambda: then(found))
        return await answer.wait() if isinstance(answer, PendingAnswer) else answer

    return PendingAnswer(wait)


def _content(access: Access, image: str, name: str) -> bytes:
    if not image.startswith(ADDRESS):
        return from_base64(image, name)
    run_id, _, artifact = image.removeprefix(ADDRESS).partition("/")
    try:
        content = stored_content(find_run(access, run_id), artifact)
    except NotFoundError as error:
        raise PictureError(f"{name} is an artifact of no run here: {error}") from None
    if content is None:
        raise PictureError(f"{name} is no artifact of run {run_id}: name one as artifact:RUN/NAME.")
    return content


def _document(given: str, content: str) -> tuple[bytes, str]:
    name = given.replace('"', "_").replace("\n", "_").replace("\r", "_")[-120:] or "file"
    try:
        return base64.b64decode(content, validate=True), name
    except (binascii.Error, ValueError):
        raise AttachmentError(f"{name} is not base64: encode its bytes.") from None


def _part(name: str, data: bytes) -> tuple[str, list[Picture]]:
    text = _text(name, data)
    pages = [] if text or not is_pdf(data) else pages_of(data, name)
    text = f"[shown as {len(pages)} pictures, one a page]" if pages else text
    mark = hashlib.sha256(data).hexdigest()[:8]
    while mark in text:  # so that nothing in the file ends the part early
        mark = hashlib.sha256(mark.encode()).hexdigest()[:8]
    head = f'<attachment id="{mark}" name="{name}" bytes="{len(data)}">'
    return f'{head}\n{text}\n</attachment id="{mark}">', pages


def _text(name: str, data: bytes) -> str:
    if is_pdf(data):
        text, is_cut = _read(name, DocumentKind.PDF, data)
    elif data.startswith(b"PK\x03\x04") and name.lower().endswith(".docx"):
        text, is_cut = _read(name, DocumentKind.DOCX, data)
        if not text:
            raise AttachmentError(f"{name} has no text: attach it as pictures.")
    else:
        text, is_cut = _plain(name, data), False
    if is_cut or len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS]
        text += f"\n[cut: the first {len(text):,} characters of {name}]"
    return clean_text(text)


def _plain(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise AttachmentError(f"{name} cannot be read: attach {_TYPES}, or a picture.")
    return text


def _read(name: str, kind: str, data: bytes) -> tuple[str, bool]:
    """Return the text of a document, page by page, and True if pages were left out.

    The text of a scan is empty.
    """
    pages_read, texts, last = 0, [], 0
    while True:
        try:
            part = read_part(name, kind, data, pages_read=pages_read)
        except UnreadableDocumentError as error:
            raise AttachmentError(str(error)) from None
        for one in part.passages:
            head = [f"[page {one.page}]"] if one.page not in (None, last) else []
            last = one.page or 0
            texts.append("\n".join([*head, *one.headings[-1:], one.text]))
        is_long = sum(map(len, texts)) > MOST_CHARACTERS
        if part.is_last or is_long or part.pages_read <= pages_read:
            break
        pages_read = part.pages_read
    return "\n\n".join(texts), is_long and not part.is_last
