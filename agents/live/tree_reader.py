"""Incremental reads of a run tree from Postgres."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import UUID

from agents.choices import TERMINAL
from agents.live.updates import EventUpdate, RunUpdate, Update, happened
from agents.querysets import events_after, tree

if TYPE_CHECKING:
    from agents.journal.memory_texts import TreeTexts


@dataclass(slots=True)
class TreeReader:
    """Position of one reader in a tree.

    Attributes:
        seqs: Last event read, by run. A reader's claim is limited to the tree's own runs and to the
            ends of their journals.
        has_ended: True if every run had ended at the last read.
        texts: What the reader may not see; None: the reader sees all. Complete from the first
            event of a run on.
    """

    root_id: UUID
    seqs: dict[UUID, int] = field(default_factory=dict)
    has_ended: bool = False
    texts: TreeTexts | None = None

    def read_new(self) -> list[Update]:
        """Return runs that changed since the last read, each with its new events. Blocks."""
        updates: list[Update] = []
        runs = tree(self.root_id)
        self.seqs = {run.pk: min(self.seqs.get(run.pk, 0), run.last_seq) for run in runs}
        for run in runs:
            seen = self.seqs[run.pk]
            if run.last_seq == seen:
                continue
            updates.append(RunUpdate(run))
            for row in events_after(run.pk, seen):
                updates.append(self._shown(happened(row)))
                self.seqs[run.pk] = row.seq
        self.has_ended = all(run.status in TERMINAL for run in runs)
        return updates

    def _shown(self, update: EventUpdate) -> EventUpdate:
        """Return an event as the reader may see it."""
        if self.texts is None:
            return update
        recorded = update.recorded
        event = self.texts.redact(update.run_id, recorded.event)
        return EventUpdate(update.run_id, replace(recorded, event=event))
