"""Memories that runs were given at their start."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from agents.models.run import Run
from heartbit_site.base.models.constraints import unique
from memory.models import MemoryItem


class RecalledMemory(models.Model):
    """A memory as a run's model was given it; erased with the memory, and so with its person.

    The journal has its id alone, since journals and archives outlast an erasure.

    Attributes:
        item: The memory, which may say something else since; None: another provider's text.
        provider: Class name of that provider; empty: Heartbit's own memory.
        person: The person behind the run; the provider's text is erased with them.
        from_outsiders: True if the provider's text may repeat what outsiders wrote.
        position: Place among the run's memories, the best first.
        text: What it said.
        source: Whose it was and when it was learned, in words.
        why: Reasons of its recall, in words.
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
