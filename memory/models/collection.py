"""Vector collections: texts and vectors of programs, found by meaning."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models.functions import Now

from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, unique


class Collection(models.Model):
    """A named set of items that programs fill and search.

    Attributes:
        dimensions: Length of the vectors that programs give; null: the workspace's embedding model
            makes them of the items' texts.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="collections")
    name = models.CharField(max_length=64)
    dimensions = models.PositiveSmallIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name"]
        constraints = [unique("collection_name_once", "workspace", "name")]

    def __str__(self) -> str:
        return self.name


class CollectionItem(models.Model):
    """An item of a collection.

    Attributes:
        key: The program's name of it; unique in its collection.
        metadata: Free JSON, by which a search filters.
        language: Text search configuration of PostgreSQL, such as ``english``.
        search: Lexemes of the text.
        embedded_with: As of ``MemoryItem``; ``given`` for a vector of the program.
    """

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, related_name="items", db_index=False
    )
    key = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    metadata = models.JSONField(default=dict)
    language = models.CharField(max_length=63)
    search = SearchVectorField()
    embedded_with = models.CharField(max_length=200, default="", db_default="")
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "item of a collection"
        verbose_name_plural = "items of collections"
        ordering = ["collection", "key"]
        constraints = [unique("collection_key_once", "collection", "key")]
        indexes = [
            GinIndex(fields=["search"], name="collection_search"),
            index("collection_language", "language"),
            index("collection_embedded", "collection", "embedded_with"),
        ]

    def __str__(self) -> str:
        return self.key


class CollectionEmbedding(models.Model):
    """The vector of an item; its column ``vector`` is as that of ``MemoryEmbedding``."""

    item = models.OneToOneField(
        CollectionItem, on_delete=models.CASCADE, primary_key=True, related_name="embedding"
    )

    class Meta:
        db_table = "memory_collection_embedding"
