"""Knowledge bases, their documents, and the passages that a search finds."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique
from memory.choices import DocumentKind, DocumentState
from memory.querysets import DocumentQuerySet


class KnowledgeBase(models.Model):
    """A collection of documents that agents search.

    Attributes:
        drive_folder: Folder of the workspace's drive whose files are documents here; empty: none.
        drive_requested_at: Time at which an import of its files was requested; null: never.
        drive_claimed_until: Time until which a worker's import is protected; null: no import is
            active.
        drive_checked_at: Time at which they were last import; null: never yet.
        drive_problem: Sentence about files that were not imported; empty if all were.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="knowledge_bases"
    )
    name = models.CharField(
        max_length=64, help_text="Name by which agents are given it, such as handbook."
    )
    description = models.CharField(
        max_length=300, blank=True, default="", help_text="Subject of its documents."
    )
    drive_folder = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="Folder of the workspace's drive whose files are taken up, such as handbook. "
        "Empty: none.",
    )
    drive_requested_at = models.DateTimeField(null=True, editable=False)
    drive_claimed_until = models.DateTimeField(null=True, editable=False)
    drive_checked_at = models.DateTimeField(null=True, editable=False)
    drive_problem = models.CharField(
        max_length=500, blank=True, default="", db_default="", editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "knowledge base"
        ordering = ["name"]
        constraints = [unique("knowledge_base_name_once", "workspace", "name")]

    def __str__(self) -> str:
        return self.name

    @property
    def drive_is_due(self) -> bool:
        """True while an import of its folder is active or requested."""
        waits = self.drive_requested_at or self.drive_claimed_until or not self.drive_checked_at
        return bool(self.drive_folder and waits)


class Document(models.Model):
    """A document of a knowledge base; new content of the same name replaces the old.

    Attributes:
        kind: Its form, by which it is read.
        hash: SHA-256 of the content: the same content is never read twice.
        size: Bytes of the content.
        source: Origin that a person or a program gave, such as a URL; empty: none.
        drive_file: File of the drive that it was imported from; empty if it was uploaded.
        language: Text search configuration of PostgreSQL, such as ``english``; empty until its
            first part is read.
        pages: Number of its pages, or of its parts if the format has no pages; null until its first
            part is read.
        pages_read: Number of pages whose passages are stored.
        passage_count: Number of stored passages.
        problem: Sentences about why it could not be read, or what was guessed or left out; empty if
            all was read, or is still unread.
        claim: Number of the last claim of a worker, which fences what earlier ones write.
        claimed_until: Time until which a worker reads a part; null: none does.
        attempts: Claims since the last part that was stored.
        touched_at: Time of its last claim: the document with the oldest claim is read next.
    """

    base = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="documents")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=DocumentKind)
    hash = models.CharField(max_length=64, editable=False)
    size = models.PositiveIntegerField(editable=False)
    source = models.CharField(
        max_length=500, blank=True, default="", help_text="Origin, such as a URL; for people."
    )
    drive_file = models.CharField(
        max_length=500, blank=True, default="", db_default="", editable=False
    )
    state = models.CharField(
        max_length=16, choices=DocumentState, default=DocumentState.QUEUED, editable=False
    )
    language = models.CharField(max_length=63, blank=True, default="", editable=False)
    pages = models.PositiveIntegerField(null=True, editable=False)
    pages_read = models.PositiveIntegerField(default=0, editable=False)
    passage_count = models.PositiveIntegerField(default=0, editable=False)
    problem = models.CharField(max_length=500, blank=True, default="", editable=False)
    claim = models.PositiveIntegerField(default=0, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    touched_at = models.DateTimeField(db_default=Now(), editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            unique("document_name_once", "base", "name"),
            one_of("kind", DocumentKind.values, name="document_kind_known"),
            one_of("state", DocumentState.values, name="document_state_known"),
        ]
        indexes = [
            index("document_to_read", "touched_at", where=DocumentState.unread()),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def workspace(self) -> Workspace:
        """The workspace of its base."""
        return self.base.workspace


class DocumentContent(models.Model):
    """The bytes of a document, as they were uploaded."""

    document = models.OneToOneField(
        Document, on_delete=models.CASCADE, primary_key=True, related_name="content"
    )
    data = models.BinaryField()


class Passage(models.Model):
    """A part of a document that is found and cited as a unit; its text never changes.

    Attributes:
        base: The document's, for searches.
        position: Place in the document, from 0.
        page: Number of its page, from 1; null: the form has no pages.
        headings: The headings above it, the outermost first.
        language: The document's.
        search: Lexemes of the text, of the headings and of the document's name.
        embedded_with: Model of its ``PassageEmbedding``; empty: there is none; after a ``!`` the
            model that refused the text.
    """

    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="passages", db_index=False
    )
    base = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="+")
    position = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True)
    headings = ArrayField(models.TextField(), default=list)
    text = models.TextField()
    language = models.CharField(max_length=63)
    search = SearchVectorField()
    embedded_with = models.CharField(max_length=200, default="", db_default="")

    class Meta:
        ordering = ["document", "position"]
        constraints = [unique("passage_position_once", "document", "position")]
        indexes = [
            GinIndex(fields=["search"], name="passage_search"),
            index("passage_language", "language"),
            index("passage_embedded", "base", "embedded_with"),
        ]

    def __str__(self) -> str:
        return f"Passage {self.position + 1} of {self.document}"

    @property
    def citation(self) -> str:
        """The document with the page and the headings, for people."""
        page = [] if self.page is None else [f"page {self.page}"]
        where = ", ".join([self.document.name, *page])
        return f"{where}: {' > '.join(self.headings)}" if self.headings else where

    @property
    def path(self) -> str:
        """Path of the page that shows it."""
        return f"/w/{self.base.workspace.slug}/passages/{self.pk}/"

    @property
    def link(self) -> str:
        """Address of that page."""
        return f"{settings.HEARTBIT_PUBLIC_URL}{self.path}"

    @property
    def full_text(self) -> str:
        """The text below its document's name and headings, which give it context."""
        return "\n".join([" > ".join([self.document.name, *self.headings]), self.text])


class PassageEmbedding(models.Model):
    """The vector of a passage; its column ``vector`` is as that of ``MemoryEmbedding``."""

    passage = models.OneToOneField(
        Passage, on_delete=models.CASCADE, primary_key=True, related_name="embedding"
    )

    class Meta:
        db_table = "memory_passage_embedding"
