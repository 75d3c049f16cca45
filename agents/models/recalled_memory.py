"""Memories that runs were given at their start."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from agents.models.run import Run
from heartbit_site.base.models.constraints import unique
from memory.models import MemoryItem


class RecalledMemory(models.Model):
    """A memory as given to a run's model; erased with the memory, and so with its person.

    The journal has only its id, since journals and archives outlast an erasure.

    Attributes:
        item: The memory, whose text may have changed since; None: another provider's text.
        provider: Class name of that provider; empty: Heartbit's own memory.
        person: The person behind the run; the provider's text is erased with the person.
        from_outsiders: True if the provider's text may repeat text by outsiders.
        position: Rank among the run's memories, the best first.
        text: Text of the memory at that time.
        source: Owner and date of the memory, in words.
        why: Reasons for the recall, in words.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="recalled_memories")
    item = models.ForeignKey(MemoryItem, on_delete=models.CASCADE, related_name="+", null=True)
    provider = models.CharField(max_length=100, db_default="", default="")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", null=True
    )
    from_outsiders = models.BooleanField(db_default=False, default=False)
    position = models.PositiveSmallIntegerField()
    text = models.TextField()
    source = models.CharField(max_length=100)
    why = models.TextField()

    class Meta:
        ordering = ["run", "position"]
        constraints = [
            unique("recalled_memory_once", "run", "item"),
            unique("provided_memory_once", "run", "position", where=models.Q(item=None)),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """Name of the memory: by its id, or its provider."""
        return self.provider or f"memory {self.item_id}"
