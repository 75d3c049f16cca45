"""Create and delete vector collections, and write their items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.postgres.search import SearchVector
from django.db import transaction
from django.db.models import Value
from django.utils import timezone

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_json, clean_text
from memory.actions.bases import NAME
from memory.embeddings import table
from memory.embeddings.embedder import MOST_DIMENSIONS, Vector
from memory.embeddings.meaning import GIVEN
from memory.errors import CollectionFullError, CollectionNotFoundError, InvalidCollectionError
from memory.lexical import detect_language
from memory.models import Collection, CollectionItem

MOST_COLLECTIONS: Final = 100  # of a workspace
MOST_ITEMS: Final = 100_000  # of a workspace
MOST_AT_ONCE: Final = 50
MOST_CHARACTERS: Final = 8_000


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to write; see ``CollectionItem``. ``vector`` is that of a program; empty: none."""

    key: str
    text: str = ""
    vector: Vector = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def find_collection(workspace: Workspace, name: str) -> Collection:
    """Return a collection of the workspace.

    Raises:
        CollectionNotFoundError: It has none of that name.
    """
    found = Collection.objects.filter(workspace=workspace, name=name).first()
    if found is None:
        raise CollectionNotFoundError(f"There is no collection {name[:64]!r}.")
    return found


def create_collection(
    workspace: Workspace, name: str, *, by: Actor, dimensions: int | None = None
) -> Collection:
    """Create a collection, or return the one of this name.

    Args:
        workspace: Its workspace.
        name: Its name.
        by: The author.
        dimensions: Length of the vectors that programs will give; None: the workspace's embedding
            model embeds the texts.

    Raises:
        InvalidCollectionError: The name or the number of dimensions is not valid, the existing
            collection has another number, or the database cannot store vectors.
        CollectionFullError: The workspace has 100 collections.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    with about("name"):
        if not NAME.match(name):
            raise InvalidCollectionError(
                f"The name {name[:80]!r} is not valid: use up to 64 lower-case letters, digits, "
                "- and _, such as products."
            )
    with about("dimensions"):
        if dimensions is not None and not 1 <= dimensions <= MOST_DIMENSIONS:
            raise InvalidCollectionError(f"Vectors have 1 to {MOST_DIMENSIONS:,} dimensions.")
        if dimensions is not None and not table.has_vectors():
            raise InvalidCollectionError(
                "This PostgreSQL stores no vectors: install pgvector 0.7 or later, or leave the "
                "dimensions out and search by words."
            )
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        rows = Collection.objects.filter(workspace=workspace)
        found = rows.filter(name=name).first()
        if found is not None and found.dimensions == dimensions:
            return found
        if found is not None:
            raise InvalidCollectionError(
                f"The collection {name} exists with other dimensions: delete it, or take another "
                "name."
            )
        if rows.count() >= MOST_COLLECTIONS:
            raise CollectionFullError(
                f"The workspace has {MOST_COLLECTIONS} collections, which is the limit: delete one."
            )
        made = Collection.objects.create(workspace=workspace, name=name, dimensions=dimensions)
        audit.record_on(by, "collection.add", made, details={})
    return made


def delete_collection(collection: Collection, *, by: Actor) -> None:
    """Delete a collection with its items, for good."""
    require(by, "agents:write", workspace_id=collection.workspace_id)
    with transaction.atomic():
        audit.record_on(by, "collection.remove", collection, details={})
        collection.delete()


@transaction.atomic
def upsert_items(collection: Collection, items: Sequence[NewItem], *, by: Actor) -> int:
    """Write items, and replace those of known keys; return the number of new ones.

    A text without a given vector is embedded by a worker, and found by its words until then.

    Raises:
        InvalidCollectionError: An item is not valid; none is written.
        CollectionFullError: The workspace would have more than 100,000 items; none is written.
    """
    require(by, "agents:write", workspace_id=collection.workspace_id)
    with about("items"):
        _check(collection, items)
    Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    keys = [item.key for item in items]
    known = set(collection.items.filter(key__in=keys).values_list("key", flat=True))
    new = len(items) - len(known)
    everything = CollectionItem.objects.filter(collection__workspace=collection.workspace_id)
    if new and everything.count() + new > MOST_ITEMS:
        raise CollectionFullError(
            f"The workspace's collections have room for {MOST_ITEMS:,} items: delete some."
        )
    for item in items:
        language = detect_language(item.text)
        row, _ = CollectionItem.objects.update_or_create(
            collection=collection,
            key=item.key,
            defaults={
                "text": item.text,
                "metadata": clean_json(item.metadata),
                "language": language,
                "search": SearchVector(Value(item.text), config=language),
                "embedded_with": "",
                "updated_at": timezone.now(),
            },
        )
        if item.vector:
            table.store(table.COLLECTED, GIVEN, {row.pk: item.text}, [item.vector])
    return new


def delete_items(collection: Collection, keys: Sequence[str], *, by: Actor) -> int:
    """Delete items by their keys; return their number."""
    require(by, "agents:write", workspace_id=collection.workspace_id)
    _, deleted = collection.items.filter(key__in=keys).delete()
    return deleted.get(CollectionItem._meta.label, 0)


def _check(collection: Collection, items: Sequence[NewItem]) -> None:
    if not 1 <= len(items) <= MOST_AT_ONCE:
        raise InvalidCollectionError(f"Write 1 to {MOST_AT_ONCE} items at once.")
    if len({item.key for item in items}) < len(items):
        raise InvalidCollectionError("Two of the items have the same key: give each its own.")
    for item in items:
        problem = _problem(collection.dimensions, item)
        if problem:
            raise InvalidCollectionError(f"The item {item.key[:60]!r} {problem}.")


def _problem(dimensions: int | None, item: NewItem) -> str:
    if not 1 <= len(item.key) <= 200 or clean_text(item.key) != item.key:
        return "needs a key of 1 to 200 characters"
    if len(item.text) > MOST_CHARACTERS or clean_text(item.text) != item.text:
        return f"has a text of more than {MOST_CHARACTERS:,} characters, or with a NUL"
    if dimensions is None:
        if item.vector:
            return "has a vector, but the collection embeds texts: leave it out"
        return "" if item.text.strip() else "has no text"
    return vector_problem(dimensions, item.vector)


def vector_problem(dimensions: int, vector: Vector) -> str:
    """Return what is wrong with a vector of a collection; empty: nothing."""
    if len(vector) != dimensions:
        return f"has a vector of {len(vector)} numbers, and the collection's have {dimensions}"
    if not all(abs(number) <= 65_000 for number in vector) or not any(vector):
        return "has a vector that is zero, or has a number beyond 65,000 or NaN"
    return ""
