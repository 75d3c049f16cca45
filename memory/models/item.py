"""Memories, their histories and their vectors."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of
from memory.choices import Category, ChangeKind, Scope
from memory.querysets import MemoryQuerySet


class MemoryItem(models.Model):
    """A memory in its current wording; written through ``actions``, which keep its history.

    Attributes:
        agent: Name of the agent that recalls it; empty: all agents.
        user: Its person, whose erasure deletes it; null: it concerns no one person. A
            conversation's memory has the person whose run stored it.
        conversation_id: The conversation that recalls it (``agents.Conversation``).
        importance: From 1, trivial, to 10, vital.
        metadata: Free JSON of programs.
        language: Text search configuration of PostgreSQL for the text, such as ``english``.
        search: The text's lexemes in that language.
        embedded_with: Model of its ``MemoryEmbedding``; empty: its text has none; after a ``!`` the
            model that refused the text.
        use_count: Number of times that a run recalled it.
        used_at: Time of the last one; null: none yet.
        from_outsiders: True if the run that wrote its text had read text by outsiders; a run that
            recalls it then counts as having read such text too.
        forgotten_at: Time at which it was forgotten; null while it is recalled.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memories")
    scope = models.CharField(
        max_length=16,
        choices=Scope,
        default=Scope.WORKSPACE,
        help_text="Reach: the runs that recall it.",
    )
    agent = models.CharField(
        max_length=64, blank=True, default="", help_text="Name of the agent that recalls it."
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name="person",
        help_text="Only this person's runs recall it.",
    )
    conversation_id = models.UUIDField(
        null=True, blank=True, editable=False, verbose_name="conversation"
    )
    category = models.CharField(max_length=16, choices=Category, default=Category.FACT)
    text = models.TextField(help_text="One statement that is understood without its context.")
    importance = models.PositiveSmallIntegerField(
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text="From 1, trivial, to 10, vital.",
    )
    metadata = models.JSONField(default=dict, blank=True)
    language = models.CharField(max_length=63, editable=False)
    search = SearchVectorField(editable=False)
    embedded_with = models.CharField(
        max_length=200, blank=True, default="", db_default="", editable=False
    )
    use_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)
    from_outsiders = models.BooleanField(
        "after text by outsiders", default=False, db_default=False, editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    forgotten_at = models.DateTimeField(null=True, editable=False)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name = "memory"
        verbose_name_plural = "memories"
        ordering = ["-id"]
        constraints = [
            one_of("category", Category.values, name="memory_category_known"),
            models.CheckConstraint(
                name="memory_scope_complete",
                condition=Q(
                    scope=Scope.WORKSPACE, agent="", user=None, conversation_id__isnull=True
                )
                | Q(scope=Scope.AGENT, user=None, conversation_id__isnull=True) & ~Q(agent="")
                | Q(scope=Scope.PERSON, user__isnull=False, conversation_id__isnull=True)
                & ~Q(agent="")
                | Q(scope=Scope.CONVERSATION, conversation_id__isnull=False) & ~Q(agent=""),
            ),
            models.CheckConstraint(
                name="memory_importance_in_range", condition=Q(importance__range=(1, 10))
            ),
        ]
        indexes = [
            GinIndex(fields=["search"], name="memory_search"),
            index("memory_owners", "workspace", "scope", "agent", "user"),
            index("memory_language", "language"),
            index("memory_embedded", "workspace", "embedded_with"),
        ]

    def __str__(self) -> str:
        # Without its text: audit entries, which no one can erase, are labelled with it.
        return f"Memory {self.pk}"


class MemoryChange(models.Model):
    """A change of a memory; deleted with the memory.

    Attributes:
        before: The memory's content before the change; null for a new memory.
        reason: Reason that the author gave.
        author: Name of the person, or of the agent.
        run_id: The run that made the change, or in which it was said if another run extracted it;
            null: a person or a program did.
        undone_at: Time at which the change was undone; null if it was not.
    """

    item = models.ForeignKey(MemoryItem, on_delete=models.CASCADE, related_name="changes")
    kind = models.CharField(max_length=16, choices=ChangeKind)
    before = models.JSONField(null=True)
    reason = models.TextField(blank=True, default="")
    author = models.CharField(max_length=200)
    run_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    undone_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "change of a memory"
        verbose_name_plural = "history"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.get_kind_display()


class MemoryEmbedding(models.Model):
    """The vector of a memory's text; deleted with the memory.

    Its column ``vector`` exists where PostgreSQL has pgvector, and is written and read in SQL
    (``memory.embeddings.table``).
    """

    item = models.OneToOneField(
        MemoryItem, on_delete=models.CASCADE, primary_key=True, related_name="embedding"
    )

    class Meta:
        db_table = "memory_embedding"
