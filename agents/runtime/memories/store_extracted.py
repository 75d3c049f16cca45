"""Storing of extracted memories: known ones are left out, contradicted ones superseded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agents.journal.events import MemoriesExtracted
from agents.loop.extraction import Proposal, read_proposals
from agents.models import LearnedMemory, Run
from heartbit_site.base.audit import Actor
from heartbit_site.base.query import fetch_one
from memory.actions.memories import remember, supersede
from memory.errors import InvalidMemoryError
from memory.history import Author
from memory.models import MemoryItem
from memory.recall import recall

if TYPE_CHECKING:
    from agents.runtime.memories.extraction_source import Source

_MOST_NEIGHBOURS: Final = 10
_PUNCTUATION: Final = ".,;:!?\"'()"  # at a word's ends: C++ and C# differ


def store_extracted(source: Source, answer: Mapping[str, Any]) -> MemoriesExtracted:
    """Store what a model proposed, in the caller's transaction.

    A memory that a person or a later run changed after the source had ended is newer than what
    was said in it, and stays.

    Args:
        source: The run in which it was said.
        answer: The model's answer, which fits ``agents.loop.extraction.SCHEMA``.
    """
    _lock_place(source)
    added: list[int] = []
    replaced: list[int] = []
    for proposal in read_proposals(source.lines, answer):
        try:
            item, is_new = _store(source, proposal)
        except InvalidMemoryError:  # nothing but unprintable characters, for one
            continue
        if item is None or item.pk in {*added, *replaced}:
            continue
        LearnedMemory.objects.get_or_create(
            run=source.run,
            item=item,
            defaults={"turn": proposal.turn, "replaced": not is_new},
        )
        (added if is_new else replaced).append(item.pk)
    skipped = len(answer["memories"]) - len(added) - len(replaced)
    return MemoriesExtracted(tuple(added), tuple(replaced), skipped)


def _store(source: Source, proposal: Proposal) -> tuple[MemoryItem | None, bool]:
    """Return the memory that says it now, and True if it is new; None: nothing was stored."""
    by = Author(Actor(f"agent {source.run.agent}", "system"), source.run.pk)
    if _is_known(source, proposal.text):
        return None, False
    old = source.neighbours().filter(pk=proposal.replaces).first() if proposal.replaces else None
    if old is None:
        made = remember(
            source.place,
            proposal.text,
            by=by,
            category=proposal.category,
            importance=proposal.importance,
        )
        return made, True
    if _is_newer(old, source.run):
        return None, False
    changed = supersede(
        old,
        by=by,
        reason=proposal.reason or "said otherwise",
        text=proposal.text,
        category=proposal.category,
        importance=proposal.importance,
    )
    return changed, False


def _is_known(source: Source, text: str) -> bool:
    """Return True if a memory of the place says it, or was forgotten after the run had ended.

    Letter case, punctuation and spaces make no difference; every word does, since one such as "not"
    makes the contrary of a text.
    """
    rows = MemoryItem.objects.filter(**source.place.columns())
    if rows.filter(text__iexact=text.strip(), forgotten_at__gte=source.run.finished_at).exists():
        return True
    live = rows.filter(forgotten_at=None)
    words = _words(text)
    hits = recall(live, text, limit=_MOST_NEIGHBOURS).hits
    return live.filter(text__iexact=text.strip()).exists() or any(
        _words(hit.item.text) == words for hit in hits
    )


def _words(text: str) -> list[str]:
    stripped = (word.strip(_PUNCTUATION) for word in text.casefold().split())
    return [word for word in stripped if word]


def _is_newer(item: MemoryItem, run: Run) -> bool:
    earlier = Run.objects.filter(created_at__lte=run.created_at).values("pk")
    since = item.changes.filter(created_at__gt=run.finished_at)
    return since.exclude(run_id__in=earlier).exists()


def _lock_place(source: Source) -> None:
    """Let one extraction of a place store at a time, so that none stores what another has."""
    fetch_one("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"memories {source.place}"])
