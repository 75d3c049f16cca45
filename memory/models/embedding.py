"""Vectors of memories."""

from __future__ import annotations

from django.db import models

from memory.models.item import MemoryItem


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
