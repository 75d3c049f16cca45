"""Knowledge bases, their documents, and the passages that a search finds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasPath, Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Name, Page, Text, Word
from heartbit_site.contract.operation import READ_RUNS, WRITE_AGENTS, Noun

KindName = Literal["text", "markdown", "html", "pdf", "docx"]
StateName = Literal["queued", "reading", "ready", "failed"]
MOST_BYTES = 10_000_000


class KnowledgeBaseOut(View):
    """A knowledge base."""

    id: int = Field(validation_alias="pk")
    name: str
    description: str
    document_count: int
    passage_count: int = Field(description="Number of passages stored so far.")
    unread_count: int = Field(description="Number of documents not read yet.")
    failed_count: int = Field(description="Number of unreadable documents.")
    drive_folder: str = Field(description="Folder of the drive that it follows; empty: none.")
    drive_is_due: bool = Field(description="True while the folder is being imported.")
    drive_checked_at: Time | None = Field(description="Time of the last import; null: never.")
    drive_problem: str = Field(
        description="Sentence about files that were not imported; empty if all were."
    )
    created_at: Time


class KnowledgeBasesOut(Page):
    """Knowledge bases, by name."""

    knowledge_bases: list[KnowledgeBaseOut]


class KnowledgeBaseIn(Body):
    """A knowledge base to create or change."""

    name: Name = Field(description="Small letters, digits, - and _, such as handbook.")
    description: Annotated[Text, Field(max_length=300)] | None = Field(
        None, description="Subject of its documents; null: as before."
    )
    drive_folder: Annotated[Text, Field(max_length=500)] | None = Field(
        None,
        description="Folder of the workspace's drive whose files are documents here; empty: "
        "none; null: unchanged.",
    )


class DocumentOut(View):
    """A document of a knowledge base."""

    id: int = Field(validation_alias="pk")
    base: str = Field(validation_alias=AliasPath("base", "name"))
    name: str
    kind: KindName
    size: int = Field(description="Bytes.")
    hash: str = Field(description="SHA-256 of the content.")
    source: str = Field(description="Origin that was given, such as a URL; empty: none.")
    state: StateName
    problem: str = Field(
        description="Reason for a failure, or what was guessed or left out; empty if all was "
        "read, or will be."
    )
    pages: int | None = Field(
        description="Number of pages; null if its format has none, or it was not read yet."
    )
    pages_read: int
    passage_count: int = Field(description="Number of passages stored so far.")
    created_at: Time
    updated_at: Time


class DocumentsOut(Page):
    """Documents of a knowledge base, by name."""

    documents: list[DocumentOut]


class DocumentIn(Body):
    """A document to add, or new content of the document of this name."""

    name: Word = Field(description="Its name in the base, such as handbook.pdf.")
    text: Annotated[str, Field(min_length=1, max_length=MOST_BYTES)] | None = Field(
        None,
        description="The content of a text, Markdown or HTML file; null if it is in `content`.",
    )
    content: Annotated[str, Field(min_length=1, max_length=MOST_BYTES * 4 // 3 + 4)] | None = Field(
        None, description="The content in base64; null if it is in `text`."
    )
    kind: KindName | None = Field(
        None, description="Format; null: detect it by the content and the name."
    )
    source: Annotated[Text, Field(max_length=500)] = Field(
        "", description="Origin, such as a URL, for people."
    )


class SavedDocumentOut(DocumentOut):
    """A saved document."""

    outcome: Literal["added", "replaced", "unchanged"] = Field(
        description="unchanged: the document already had this content."
    )


class PassageOut(View):
    """A passage of a document."""

    id: int = Field(validation_alias="pk")
    citation: str = Field(description="Document, page and headings, for people.")
    link: str = Field(description="URL of the page that shows it.")
    base: str = Field(validation_alias=AliasPath("base", "name"))
    document: str = Field(validation_alias=AliasPath("document", "name"))
    document_id: int
    position: int = Field(description="Place in the document, from 0.")
    page: int | None = Field(
        description="Number of its page, from 1; null if the format has no pages."
    )
    headings: list[str] = Field(description="The headings above it, the outermost first.")
    text: str


class PassageDetailOut(PassageOut):
    """A passage between its neighbours."""

    before: PassageOut | None = Field(
        description="The passage before; null for the first of the document."
    )
    after: PassageOut | None = Field(description="The passage after; null for the last stored one.")


class PassageHitOut(View):
    """A passage that matches a query."""

    score: float = Field(description="Score from 0 to 1.")
    nearness: int | None = Field(description="Rank by meaning; null if found only by words.")
    why: str = Field(description="The reasons as text.")
    passage: PassageOut


class PassageHitsOut(Page):
    """The best matching passages, the best first."""

    found_by: str = Field(
        description="Method of the search: by words only, or by meaning too, with the reason."
    )
    hits: list[PassageHitOut]


NOUN = Noun("knowledge", read=READ_RUNS, write=WRITE_AGENTS)

LIST_BASES = NOUN.get(
    "list_knowledge_bases", "/knowledge-bases", KnowledgeBasesOut, command="`heartbit knowledge`"
)
SAVE_BASE = NOUN.post(
    "save_knowledge_base", "/knowledge-bases", KnowledgeBaseOut,
    "Create or change a knowledge base", body=KnowledgeBaseIn,
)  # fmt: skip
SHOW_BASE = NOUN.get("show_knowledge_base", "/knowledge-bases/{base}", KnowledgeBaseOut)
REMOVE_BASE = NOUN.delete("remove_knowledge_base", "/knowledge-bases/{base}")
REFRESH_BASE = NOUN.post(
    "refresh_knowledge_base", "/knowledge-bases/{base}/refresh", KnowledgeBaseOut,
    "Import the files of a knowledge base's folder",
)  # fmt: skip
LIST_DOCUMENTS = NOUN.get(
    "list_documents", "/knowledge-bases/{base}/documents", DocumentsOut,
    "List the documents of a knowledge base", command="`heartbit knowledge documents {base}`",
)  # fmt: skip
SAVE_DOCUMENT = NOUN.post(
    "save_document", "/knowledge-bases/{base}/documents", SavedDocumentOut,
    "Add or replace a document", body=DocumentIn, errors=(413,),
)  # fmt: skip
SHOW_DOCUMENT = NOUN.get(
    "show_document", "/knowledge-bases/{base}/documents/{document_id}", DocumentOut
)
REMOVE_DOCUMENT = NOUN.delete("remove_document", "/knowledge-bases/{base}/documents/{document_id}")
SEARCH_PASSAGES = NOUN.get(
    "search_knowledge", "/passages/search", PassageHitsOut, "Search passages"
)
SHOW_PASSAGE = NOUN.get("show_passage", "/passages/{passage_id}", PassageDetailOut)
