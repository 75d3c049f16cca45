"""Memories that runs were given at their start."""

from __future__ import annotations

from django.db import models

from agents.models.run import Run
from heartbit_site.base.models.constraints import unique
from memory.models import MemoryItem


class RecalledMemory(models.Model):
    """A memory as a run's model was given it; erased with the memory, and so with its person.

    The journal has its id alone, since journals and archives outlast an erasure.

    Attributes:
        item: The memory, which may say something else since.
        position: Place among the run's memories, the best first.
        text: What it said.
        source: Whose it was and when it was learned, in words.
        why: Reasons of its recall, in words.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="recalled_memories")
    item = models.ForeignKey(MemoryItem, on_delete=models.CASCADE, related_name="+")
    position = models.PositiveSmallIntegerField()
    text = models.TextField()
    source = models.CharField(max_length=100)
    why = models.TextField()

    class Meta:
        ordering = ["run", "position"]
        constraints = [unique("recalled_memory_once", "run", "item")]

    def __str__(self) -> str:
        return f"Memory {self.item_id}"
