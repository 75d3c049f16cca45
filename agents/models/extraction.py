"""Runs that extract memories, and links from memories to their source runs."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.models.run import Run
from heartbit_site.base.models.constraints import unique
from memory.models import MemoryItem


class MemoryExtraction(models.Model):
    """The follow-up of a run: at most one, written in the transaction that ends the run.

    Attributes:
        run: The run that extracts.
        source: The run whose texts it reads.
        has_person: True if a person was behind the source, even if the account is deleted now.
    """

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="extraction"
    )
    source = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="follow_up")
    has_person = models.BooleanField()

    def __str__(self) -> str:
        return f"Extraction of run {self.source_id}"


class LearnedMemory(models.Model):
    """Link from a memory to the run that it was extracted from; erased with the memory.

    Attributes:
        run: The source run, not the run that extracted the memory.
        turn: Turn of the source run in which the model read or wrote the text.
        replaced: True if the memory had another text before.
    """

    item = models.ForeignKey(MemoryItem, on_delete=models.CASCADE, related_name="learned_in")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="learned_memories")
    turn = models.PositiveIntegerField()
    replaced = models.BooleanField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [unique("learned_memory_once", "run", "item")]

    def __str__(self) -> str:
        return f"Memory {self.item_id}"
